import Foundation
import Media
import Testing

/// WAV files made for tests.
struct WAV {
  enum Sample: String, CaseIterable {
    case u8, s16, s24, s32, f32, f64
  }

  var rate: Int
  var channels: [[Float]]
  var sample: Sample
  /// WAVE_FORMAT_EXTENSIBLE with this channel mask.
  var mask: UInt32?

  func bytes() -> [UInt8] {
    var data: [UInt8] = []
    for index in channels[0].indices {
      for channel in channels { data += encode(channel[index]) }
    }
    let size = encode(0).count
    let tag: UInt16 = sample == .f32 || sample == .f64 ? 3 : 1
    var format = little(mask == nil ? tag : 0xFFFE) + little(UInt16(channels.count))
    format += little(UInt32(rate)) + little(UInt32(rate * size * channels.count))
    format += little(UInt16(size * channels.count)) + little(UInt16(size * 8))
    if let mask {
      format += little(UInt16(22)) + little(UInt16(size * 8)) + little(mask) + little(tag)
      format += [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
    }
    var body = Array("WAVEfmt ".utf8) + little(UInt32(format.count)) + format
    body += Array("data".utf8) + little(UInt32(data.count)) + data
    return Array("RIFF".utf8) + little(UInt32(body.count)) + body
  }

  private func encode(_ value: Float) -> [UInt8] {
    switch sample {
    case .u8: [UInt8(clamping: Int((Double(value) * 128).rounded()) + 128)]
    case .s16: little(Int16(clamping: Int((Double(value) * 32768).rounded())))
    case .s24: Array(little(Int32((Double(value) * 8_388_607).rounded())).prefix(3))
    case .s32: little(Int32((Double(value) * 2_147_483_647).rounded()))
    case .f32: little(value.bitPattern)
    case .f64: little(Double(value).bitPattern)
    }
  }

  private func little<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  func write(_ name: String, in folder: URL) throws -> String {
    let url = folder.appendingPathComponent(name)
    try Data(bytes()).write(to: url)
    return url.path
  }

  static func tone(_ frequency: Double, rate: Int, seconds: Double) -> [Float] {
    (0..<Int(seconds * Double(rate))).map {
      Float(0.5 * sin(2 * Double.pi * frequency * Double($0) / Double(rate)))
    }
  }
}

@Suite struct AudioFormatTests {
  @Test(arguments: WAV.Sample.allCases) func sampleFormats(sample: WAV.Sample) throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let tone = WAV.tone(440, rate: 16_000, seconds: 0.25)
    let wav = WAV(rate: 16_000, channels: [tone], sample: sample)
    let audio = try AudioFile.decode(path: try wav.write("tone.wav", in: folder))
    let step: Float = sample == .u8 ? 1 / 128 : 1 / 16384
    #expect(audio.samples.count == tone.count)
    #expect(zip(audio.samples, tone).allSatisfy { abs($0 - $1) <= step })
    if sample == .f32 { #expect(audio.samples == tone) }
  }

  @Test(arguments: [8000, 11_025, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000])
  func ratesKeepToneAndLength(rate: Int) throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    for seconds in [0.013, 0.5, 1.37] {
      let tone = WAV.tone(440, rate: rate, seconds: seconds)
      let wav = WAV(rate: rate, channels: [tone], sample: .f32)
      let audio = try AudioFile.decode(path: try wav.write("tone.wav", in: folder))
      let length = Int((Double(tone.count) * 16_000 / Double(rate)).rounded())
      #expect(audio.samples.count == length && audio.sampleRate == rate)
      // Away from the ends, where the filter sees silence, the tone is in place.
      let ideal = WAV.tone(440, rate: 16_000, seconds: seconds + 1)
      let worst = (200..<max(200, length - 200)).map { abs(audio.samples[$0] - ideal[$0]) }.max()
      #expect(worst ?? 0 < 1e-3, "\(rate) \(seconds) \(worst ?? 0)")
    }
  }

  @Test func stereoIsAveraged() throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let left = WAV.tone(440, rate: 16_000, seconds: 0.2)
    let right = WAV.tone(1000, rate: 16_000, seconds: 0.2)
    let wav = WAV(rate: 16_000, channels: [left, right], sample: .f32)
    let audio = try AudioFile.decode(path: try wav.write("stereo.wav", in: folder))
    #expect(zip(audio.samples, zip(left, right)).allSatisfy { abs($0 - ($1.0 + $1.1) / 2) < 1e-6 })
    #expect(audio.channels == 2)
  }

  @Test func surroundKeepsTheCentreAndDropsTheSub() throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let tone = WAV.tone(440, rate: 16_000, seconds: 0.2)
    let silence = [Float](repeating: 0, count: tone.count)
    for (place, share) in [(0, 0.20711), (2, 0.29289), (3, 0.0), (4, 0.14645)] {
      var channels = [[Float]](repeating: silence, count: 6)
      channels[place] = tone
      let wav = WAV(rate: 16_000, channels: channels, sample: .f32, mask: 0x3F)
      let audio = try AudioFile.decode(path: try wav.write("surround.wav", in: folder))
      #expect(zip(audio.samples, tone).allSatisfy { abs(Double($0) - share * Double($1)) < 1e-5 })
    }
  }

  @Test(arguments: ["speech.mp3", "speech.ogg", "speech.opus", "speech.m4a"])
  func compressedFormatsKeepTheDuration(file: String) throws {
    let audio = try AudioFile.decode(path: Fixtures.path("audio/\(file)"))
    #expect(abs(audio.durationSeconds - 3.43846) < 0.001, "\(audio.durationSeconds)")
    #expect(abs(audio.samples.count - 55_015) <= 8)
    #expect(audio.warnings.isEmpty)
  }

  @Test func truncationIsSaid() throws {
    let audio = try AudioFile.decode(path: Fixtures.path("audio/truncated.wav"))
    #expect(audio.samples.count == 9978 && audio.warnings.count == 1)
  }

  @Test(arguments: ["empty.wav", "text-named.wav", "zero-samples.wav"])
  func unusableFilesAreRefused(file: String) throws {
    let path = Fixtures.path("audio/\(file)")
    let error = try #require(throws: MediaError.self) { try AudioFile.decode(path: path) }
    #expect(error.description.hasPrefix("\(path): expected"))
    #expect(!error.description.contains("\n"))
  }

  @Test func missingFilesAndFolders() throws {
    #expect(throws: MediaError.notFound(path: "/nowhere/x.wav")) {
      try AudioFile.decode(path: "/nowhere/x.wav")
    }
    #expect(throws: MediaError.isDirectory(path: "/tmp")) { try AudioFile.decode(path: "/tmp") }
    #expect(throws: MediaError.isDirectory(path: "/tmp")) { try VideoReader(path: "/tmp") }
    #expect(throws: MediaError.isDirectory(path: "/tmp")) { try ImageFile.decode(path: "/tmp") }
    #expect(throws: MediaError.self) { try ImageFile.decode(path: "/dev/zero") }
  }

  @Test func readingStopsAtTheLimit() throws {
    let path = Fixtures.path("audio/speech.opus")
    let whole = try AudioFile.decode(path: path)
    let part = try AudioFile.decode(path: path, maxSeconds: 1)
    #expect(part.samples == Array(whole.samples.prefix(16_000)))
    #expect(part.durationSeconds > 3.4 && part.warnings == ["only the first 1.0 s are used"])
    #expect(try AudioFile.decode(path: path, maxSeconds: 10) == whole)
  }

  @Test func soundOfInfinitiesIsFinite() throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let odd: [Float] = [.infinity, -.infinity, .nan, 1e30] + [Float](repeating: 0.5, count: 4000)
    let wav = WAV(rate: 22_050, channels: [odd], sample: .f32)
    let audio = try AudioFile.decode(path: try wav.write("odd.wav", in: folder))
    #expect(audio.samples.allSatisfy { $0.isFinite })
    let features = try LogMel()(audio.samples)
    #expect(features.values.allSatisfy { $0.isFinite })
  }

  @Test func blocksCoverEverySampleOnce() throws {
    var generator = SeededGenerator(seed: 6)
    let mel = try LogMel()
    for _ in 0..<5000 {
      let count = Int.random(in: 0...3_000_000, using: &generator)
      let ranges = AudioBlocks(sampleCount: count).ranges
      #expect(ranges.first?.lowerBound ?? 0 == 0 && ranges.last?.upperBound ?? 0 == count)
      for (range, next) in zip(ranges, ranges.dropFirst()) {
        #expect(range.upperBound == next.lowerBound)
      }
      for range in ranges where ranges.count > 1 {
        #expect(range.count <= AudioBlocks.maxSamples)
        #expect(mel.counts(sampleCount: range.count).softTokens >= 25)
      }
    }
  }

  @Test func tonePeaksInItsMelBin() throws {
    let mel = try LogMel()(WAV.tone(440, rate: 16_000, seconds: 1))
    let frame = mel.values[50 * 128..<51 * 128]
    let peak = try #require(frame.indices.max { frame[$0] < frame[$1] }) - frame.startIndex
    let centre = 700 * (pow(10, Double(peak + 1) * 2840.0230467 / 129 / 2595) - 1)
    #expect(abs(centre - 440) < 35, "\(centre)")
  }
}
