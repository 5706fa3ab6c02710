import Foundation
import Media
import Testing

private struct Expectation: Decodable {
  struct Facts: Decodable {
    var displayWidth, displayHeight, exifOrientation, width, height, frames: Int?
    var rate, channels, samples, audioChannels, audioRate: Int?
    var fps: Double?
  }
  var kind, file, verdict: String
  var facts: Facts
}

/// A folder of odd media that is not part of the repository, named by TROIKA_MEDIA, with an
/// `expected.json` that says for each file what must come of it.
@Suite struct SharedSetTests {
  @Test func everyFileMeetsItsVerdict() throws {
    guard let root = ProcessInfo.processInfo.environment["TROIKA_MEDIA"] else {
      print("did not run: TROIKA_MEDIA is unset")
      return
    }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(root)/expected.json"))
    for entry in try decoder.decode([Expectation].self, from: data) {
      let path = "\(root)/\(entry.file)"
      do {
        switch entry.kind {
        case "image", "images": try Self.checkImage(path, entry)
        case "video": try Self.checkVideo(path, entry)
        default: try Self.checkAudio(path, entry)
        }
        #expect(entry.verdict != "refuse", "\(entry.file) was accepted")
      } catch let error as MediaError {
        #expect(entry.verdict != "accept", "\(error)")
        #expect(error.description.hasPrefix("\(path): expected"))
        #expect(!error.description.contains("\n"))
        print("refused:", error)
      }
    }
  }

  private static func checkImage(_ path: String, _ entry: Expectation) throws {
    let decoded = try ImageFile.decode(path: path)
    let facts = entry.facts
    #expect(try MediaProbe.kind(path: path) == .image)
    if let width = facts.displayWidth { #expect(decoded.image.width == width, "\(path)") }
    if let height = facts.displayHeight { #expect(decoded.image.height == height, "\(path)") }
    if let orientation = facts.exifOrientation { #expect(decoded.orientation == orientation) }
    let patches = try ImagePreprocessor().patches(decoded.image)
    #expect(patches.softTokenCount >= 1 && patches.softTokenCount <= 280)
  }

  private static func checkVideo(_ path: String, _ entry: Expectation) throws {
    let reader = try VideoReader(path: path)
    let facts = entry.facts
    let (width, height) = (facts.displayWidth ?? facts.width, facts.displayHeight ?? facts.height)
    if let width { #expect(reader.width == width, "\(path)") }
    if let height { #expect(reader.height == height, "\(path)") }
    if let frames = facts.frames { #expect(reader.frameCount == frames, "\(path)") }
    if let fps = facts.fps { #expect(abs((reader.framesPerSecond ?? 0) - fps) < 0.01, "\(path)") }
    let frames = try reader.frames(reader.timeline.even(fps: 1, maxFrames: 8))
    for frame in frames {
      #expect((frame.image.width, frame.image.height) == (reader.width, reader.height))
    }
    if reader.hasAudio {
      let audio = try AudioFile.decode(path: path)
      if let channels = facts.audioChannels { #expect(audio.channels == channels) }
      if let rate = facts.audioRate { #expect(audio.sampleRate == rate) }
    }
  }

  private static func checkAudio(_ path: String, _ entry: Expectation) throws {
    let audio = try AudioFile.decode(path: path)
    #expect(try MediaProbe.kind(path: path) == .audio)
    if let rate = entry.facts.rate { #expect(audio.sampleRate == rate, "\(path)") }
    if let channels = entry.facts.channels { #expect(audio.channels == channels, "\(path)") }
    if let samples = entry.facts.samples { #expect(audio.samples.count == samples, "\(path)") }
    let blocks = AudioBlocks.split(audio.samples)
    #expect(blocks.map(\.count).reduce(0, +) == audio.samples.count)
    let mel = try LogMel()
    for block in blocks {
      let features = mel(block)
      #expect(features.values.allSatisfy { $0.isFinite })
    }
  }
}
