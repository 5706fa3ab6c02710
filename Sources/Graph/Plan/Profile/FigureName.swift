/// What a device profile may say about a unit.
///
/// A time that is not given is 0, a rate that is not given is no limit.
public enum UnitFigure: String, Hashable, Sendable, CaseIterable {
  /// Nanoseconds of a launch beside the work itself.
  case launchNanoseconds
  /// Nanoseconds that each operation takes at least, one after the other.
  case operationNanoseconds
  /// Nanoseconds of each operation beside its work.
  case dispatchNanoseconds
  /// Nanoseconds more of a launch after the unit has had nothing to do for long.
  case wakeNanoseconds
  /// Nanoseconds without work that count as long.
  case wakeAfterNanoseconds
  /// Bytes of weights read in a second.
  case weightBytesPerSecond
  /// Bytes of values read and written in a second by everything but products and attention.
  case valueBytesPerSecond
  /// Bytes of caches read, and copied where a program makes their next value, in a second.
  case stateBytesPerSecond
  /// Bytes of each operation's cache that cost nothing.
  case stateFreeByteCount
  /// Floating-point operations of matrix products in a second; `products` says more where it depends
  /// on rows and formats.
  case productFlopsPerSecond
  /// Floating-point operations of attention in a second.
  case attentionFlopsPerSecond
  /// The same for a single row of queries; the other where it is not given.
  case rowAttentionFlopsPerSecond
  /// Floating-point operations of convolutions in a second.
  case convolutionFlopsPerSecond
  /// What a padded row costs in matrix products, as a share of a real one.
  case paddedProductShare
  /// What a padded row costs in attention, as a share of a real one.
  case paddedAttentionShare
  /// Nanoseconds of a switch to another unit inside a program.
  case handoverNanoseconds
  /// How many times longer the vision tower takes than the rates say.
  case visionFactor
  /// How many times longer the audio tower takes than the rates say.
  case audioFactor
  /// Nanoseconds more of each launch for every further program that the unit keeps loaded: those of the
  /// prompt count for the prompt's launches, those of a decode step for the step's.
  case residentProgramNanoseconds
  /// Nanoseconds that a program takes to load.
  case loadNanoseconds
  /// Nanoseconds more of a program's first launch.
  case firstLaunchNanoseconds
  /// Watts while it runs something.
  case watts
}

/// What a device profile may say about the host's work around programs.
///
/// A time that is not given is 0.
public enum HostFigure: String, Hashable, Sendable, CaseIterable {
  /// Nanoseconds of a decode step: gathers, masks, the choice of the token.
  case stepNanoseconds
  /// Nanoseconds of a decode step for each position of the context.
  case stepPositionNanoseconds
  /// Nanoseconds of a prefill batch.
  case batchNanoseconds
  /// Nanoseconds of a prefill batch for each real token.
  case batchTokenNanoseconds
  /// Nanoseconds of a decode step in which caches are copied back, where nothing hides that.
  case stateReturnNanoseconds
  /// Nanoseconds to decode and prepare a picture.
  case imageNanoseconds
  /// Nanoseconds to decode and prepare a frame of a video.
  case frameNanoseconds
  /// Nanoseconds to decode and prepare a second of sound.
  case soundSecondNanoseconds
  /// Bytes a second of the memory behind all units.
  case memoryBytesPerSecond
  /// Watts of everything else while a request runs.
  case watts
}
