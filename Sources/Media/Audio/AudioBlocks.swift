/// Sound cut into the stretches that the audio encoder takes at a time.
public struct AudioBlocks: Equatable, Sendable {
  /// Most samples in a block: 30 s at 16 kHz.
  public static let maxSamples = 480_000
  /// A last block shorter than this (1 s) shares evenly with the one before it.
  public static let shortTail = 16_000

  /// Where the blocks lie in the sound; together they cover every sample once, in order.
  public let ranges: [Range<Int>]

  /// Cuts `sampleCount` samples into blocks of 30 s and a rest.
  public init(sampleCount: Int) {
    var ranges: [Range<Int>] = []
    var start = 0
    while start < sampleCount {
      let rest = sampleCount - start
      var length = min(rest, Self.maxSamples)
      if rest > Self.maxSamples && rest < Self.maxSamples + Self.shortTail { length = rest / 2 }
      ranges.append(start..<start + length)
      start += length
    }
    self.ranges = ranges
  }

  /// The blocks of `samples`.
  public static func split(_ samples: [Float]) -> [ArraySlice<Float>] {
    AudioBlocks(sampleCount: samples.count).ranges.map { samples[$0] }
  }
}
