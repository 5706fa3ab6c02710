/// Sound as the audio encoder takes it, and what its file said about it.
public struct DecodedAudio: Equatable, Sendable {
  /// Samples per second of `samples`.
  public static let sampleRate = 16_000

  /// Mono, 16 kHz, -1...1.
  ///
  /// Shape `[n]`, float32.
  public var samples: [Float]
  /// The file's samples per second.
  public var sampleRate: Int
  /// The file's channels.
  public var channels: Int
  /// Seconds of sound in the file; where decoding stopped early, what the container announces.
  public var durationSeconds: Double
  /// What a user should know, one line each.
  public var warnings: [String]
}

/// Sound from files: audio files and the sound tracks of videos.
public enum AudioFile {
  /// Decodes the default sound track at `path` to mono at 16 kHz.
  ///
  /// One and two channels are averaged; more are mixed with the centre at 1, front left and right
  /// at 0.707, the others at 0.5 and without the low-frequency channel, divided by the sum of
  /// these factors. Other rates are resampled; the result has as many samples as the source's
  /// duration amounts to.
  ///
  /// Reading stops at `maxSeconds`; the rest is neither decoded nor held.
  ///
  /// - Throws: `MediaError` when the file is missing, without sound, or broken from the start.
  public static func decode(
    path: String,
    maxSeconds: Double? = nil
  ) throws(MediaError) -> DecodedAudio {
    let reader = try AudioReader(path: path)
    let limit = maxSeconds.map { Int(max(0, min($0, 1e9)) * Double(DecodedAudio.sampleRate)) }
    var samples: [Float] = []
    var isCut = false
    while let block = try reader.read() {
      samples += block
      if let limit, samples.count > limit {
        isCut = true
        break
      }
    }
    return try finish(reader, samples: samples, limit: isCut ? limit : nil)
  }

  private static func finish(
    _ reader: AudioReader,
    samples: [Float],
    limit: Int?
  ) throws(MediaError) -> DecodedAudio {
    let facts = reader.facts
    var samples = samples
    var warnings = reader.warnings(isComplete: limit == nil)
    var seconds = facts.decodedSeconds
    if let limit {
      samples.removeLast(samples.count - limit)
      seconds = max(seconds, facts.containerSeconds ?? 0)
      let used = Double(limit) / Double(DecodedAudio.sampleRate)
      warnings.append("only the first \(used) s are used")
    } else {
      let length = Int(facts.expectedSamples.rounded())
      if samples.count > length { samples.removeLast(samples.count - length) }
      samples += [Float](repeating: 0, count: length - samples.count)
    }
    guard !samples.isEmpty else { throw .noSamples(path: reader.path, what: "sound") }
    return DecodedAudio(
      samples: samples,
      sampleRate: facts.sampleRate,
      channels: facts.channels,
      durationSeconds: seconds,
      warnings: warnings
    )
  }
}
