import Foundation
import Media
import Testing

private struct Lengths: Decodable {
  struct Row: Decodable {
    var samples, melFrames, validMelFrames, placeholders: Int
  }
  var audioLengths: [Row]
}

@Suite struct AudioTests {
  static let clips = ["tone", "noise_half", "chirp_three", "silence", "odd_length", "blip"]

  @Test(arguments: clips) func melEqualsTheReference(clip: String) throws {
    let tensors = try Tensors("goldens/audio.safetensors")
    let audio = try AudioFile.decode(path: Fixtures.path("goldens/media/audio/\(clip).wav"))
    let mel = try LogMel()(audio.samples)
    let golden = tensors.values("\(clip).mel", as: Float.self)
    #expect([mel.frameCount, 128] == tensors.shape("\(clip).mel"))
    let mask = tensors.values("\(clip).mel_mask", as: UInt8.self)
    #expect(mel.validFrameCount == mask.count { $0 != 0 })
    let largest = zip(mel.values, golden).map { abs($0 - $1) }.max() ?? 0
    #expect(mel.values.count == golden.count && largest < 2e-3, "\(largest)")
  }

  @Test func windowAndFiltersEqualTheReference() throws {
    let tensors = try Tensors("goldens/audio.safetensors")
    let mel = try LogMel()
    #expect(mel.window == tensors.values("window", as: Float.self))
    let filters = tensors.values("mel_filters", as: Float.self)
    let largest = zip(mel.melFilters, filters).map { abs($0 - Double($1)) }.max() ?? 0
    #expect(mel.melFilters.count == filters.count && largest < 1e-6, "\(largest)")
  }

  @Test func lengthsEqualTheReference() throws {
    let mel = try LogMel()
    for row in try Fixtures.json("goldens/tables.json", as: Lengths.self).audioLengths {
      let counts = mel.counts(sampleCount: row.samples)
      #expect(counts.frames == row.melFrames, "\(row)")
      #expect(counts.validFrames == row.validMelFrames, "\(row)")
      #expect(counts.softTokens == row.placeholders, "\(row)")
      let features = mel([Float](repeating: 0.25, count: row.samples))
      #expect(features.frameCount == counts.frames)
      #expect(features.softTokenCount == counts.softTokens)
    }
  }

  @Test func badMelParametersAreRefused() {
    var parameters = LogMelParameters()
    parameters.fftLength = 500
    #expect(throws: LogMelError.self) { try LogMel(parameters: parameters) }
    parameters = LogMelParameters()
    parameters.maxFrequency = 0
    #expect(throws: LogMelError.self) { try LogMel(parameters: parameters) }
  }

  @Test func sixteenKilohertzSamplesAreExact() throws {
    let path = Fixtures.path("audio/speech-16k-mono.wav")
    let audio = try AudioFile.decode(path: path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(44)
    let expected = [UInt8](bytes).withUnsafeBytes { raw in
      (0..<raw.count / 2).map {
        Float(raw.loadUnaligned(fromByteOffset: 2 * $0, as: Int16.self)) / 32768
      }
    }
    #expect(audio.samples == expected)
    #expect(audio.sampleRate == 16_000 && audio.channels == 1 && audio.warnings.isEmpty)
  }
}
