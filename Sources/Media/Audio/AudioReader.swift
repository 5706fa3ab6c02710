internal import CMedia

/// One pass over a sound track, block by block.
final class AudioReader {
  struct Facts {
    var sampleRate: Int
    var channels: Int
    var containerSeconds: Double?
    var decodedSeconds: Double
    /// Output samples that the decoded sound amounts to, without the codec's padding.
    var expectedSamples: Double
    var damagedPackets: Int
    var readFailed: Bool
  }

  let path: String
  private let handle: OpaquePointer
  private let head: [UInt8]
  private let format: String

  init(path: String) throws(MediaError) {
    head = try FileBytes.head(path: path, count: 4096)
    self.path = path
    var report = ContainerReport()
    guard
      let handle = troika_audio_open(path, Int32(DecodedAudio.sampleRate), &report.raw)
    else { throw report.error(path: path, wanted: ContainerReport.sound, head: head) }
    self.handle = handle
    format = report.format
  }

  deinit { troika_audio_close(handle) }

  /// What is known so far.
  var facts: Facts {
    let info = troika_audio_info(handle)
    var (seconds, samples) = (info.source_seconds, info.expected_samples)
    let padding = seconds - info.container_seconds
    if info.is_trimmed != 0, info.container_seconds > 0, padding > 0, padding < 0.2 {
      seconds = info.container_seconds
      samples = seconds * Double(DecodedAudio.sampleRate)
    }
    return Facts(
      sampleRate: Int(info.sample_rate),
      channels: Int(info.channels),
      containerSeconds: info.container_seconds >= 0 ? info.container_seconds : nil,
      decodedSeconds: seconds,
      expectedSamples: samples,
      damagedPackets: Int(info.damaged_packets),
      readFailed: info.read_failed != 0
    )
  }

  /// The next samples, nil at the end.
  func read() throws(MediaError) -> [Float]? {
    var status: Int32 = 0
    let block = [Float](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      status = troika_audio_read(handle, buffer.baseAddress, 1 << 16)
      count = max(0, Int(status))
    }
    guard status >= 0 else {
      throw .damaged(path: path, format: format, reason: "its sound cannot be decoded")
    }
    return status == 0 ? nil : block
  }

  /// What went wrong without being fatal.
  func warnings(isComplete: Bool) -> [String] {
    let facts = self.facts
    var warnings: [String] = []
    if facts.damagedPackets > 0 {
      warnings.append("\(facts.damagedPackets) damaged sound packets skipped")
    }
    let announced = facts.containerSeconds ?? 0
    if isComplete && announced > facts.decodedSeconds + max(0.5, 0.02 * announced) {
      let decoded = Double(Int(facts.decodedSeconds * 1000)) / 1000
      warnings.append("truncated: \(decoded) s of the announced \(announced) s are there")
    } else if facts.readFailed || (isComplete && WAVHeader(head).promisesMore(than: path)) {
      warnings.append("truncated: the sound that is there is used")
    }
    return warnings
  }
}

/// The size that a WAV header announces for its samples.
struct WAVHeader {
  /// Bytes up to the end of the announced samples; nil where nothing certain is announced.
  private let end: Int?

  init(_ head: [UInt8]) {
    func number(_ offset: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(head[offset + $1]) << (8 * $1) }
    }
    guard head.count >= 12, head.starts(with: "RIFF".utf8) else {
      end = nil
      return
    }
    var position = 12
    while position + 8 <= head.count {
      let size = number(position + 4)
      if head[position..<position + 4].elementsEqual("data".utf8) {
        // Writers of streams leave these where the length is not known.
        end = size == 0 || size >= 0x7FFF_FF00 ? nil : position + 8 + size
        return
      }
      position += 8 + size + size % 2
    }
    end = nil
  }

  /// True when the file at `path` ends before the announced samples do.
  func promisesMore(than path: String) -> Bool {
    guard let end, let size = FileBytes.size(path: path) else { return false }
    return size < end
  }
}
