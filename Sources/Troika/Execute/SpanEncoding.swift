import Devices
import Graph
import Media
import Models

/// The soft tokens of one span on their way through their tower.
///
/// One thread at a time, which sees what the one before wrote.
final class SpanEncoding: @unchecked Sendable {
  /// What the span shows.
  enum Source {
    case image(PreparedImage)
    case sound(PreparedAudio)
    case frame(FramePass, FrameChoice)
  }

  private let source: Source
  private let encoders: Encoders
  private let processor: ProcessorSettings
  private var inputs: EncoderInputs?
  private var patches: Patches?
  /// Features `[tokens, D]`, from the end of their encoding until every batch has read them.
  private(set) var features: Value?
  /// Batches that have not read the features yet.
  private var readers: Int

  init(_ source: Source, _ encoders: Encoders, _ processor: ProcessorSettings, readers: Int) {
    self.source = source
    self.encoders = encoders
    self.processor = processor
    self.readers = readers
  }

  /// What placements call the tower.
  var part: Part { if case .sound = source { .audio } else { .vision } }

  /// What timelines call the host's part.
  var hostName: String {
    switch source {
    case .image: "host.image"
    case .sound: "host.sound"
    case .frame: "host.frame"
    }
  }

  /// Makes what the tower is given.
  func prepare() throws -> TaskReport {
    let start = MonotonicClock.nanoseconds
    switch source {
    case .image(let image): inputs = try encoders.inputs(image)
    case .sound(let audio): inputs = try encoders.inputs(audio)
    case .frame(let pass, let choice):
      let frame = try pass.frame(choice)
      let patches = try ImagePreprocessor(geometry: processor.video).patches(frame.image)
      self.patches = patches
      inputs = try encoders.inputs(PreparedImage(patches: patches, scale: .video))
    }
    return TaskReport(events: [.host(hostName, since: start)])
  }

  /// Runs the tower.
  func encode() throws -> TaskReport {
    guard let inputs else { return TaskReport() }
    self.inputs = nil
    let encoding = try encoders.encode(inputs)
    features = try decoderRows(encoding.features)
    patches = nil
    return encoding.report
  }

  /// Takes note that a batch has read the features.
  func release() {
    readers -= 1
    if readers == 0 { features = nil }
  }

  /// What the decoder is given, without the rows of padding behind it.
  private func decoderRows(_ features: Value) throws -> Value {
    if processor.poolsFrames, let patches {
      let kernel = processor.video.poolingKernel
      return try FramePooling.pool(
        features,
        rows: patches.rows / kernel,
        columns: patches.columns / kernel
      )
    }
    let rows = try Value(features.type)
    rows.pointer.copyMemory(from: features.pointer, byteCount: features.type.byteCount)
    return rows
  }
}
