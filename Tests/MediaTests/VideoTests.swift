import Foundation
@testable import Media
import Testing

private struct Tables: Decodable {
  struct Sampling: Decodable {
    var totalNumFrames, numFrames: Int
    var indices: [Int]
  }
  struct Timestamp: Decodable {
    var seconds: Double
    var text: String
  }
  var frameSampling: [Sampling]
  var timestamps: [Timestamp]
}

@Suite struct VideoTests {
  static func open(_ file: String) throws -> VideoReader {
    try VideoReader(path: Fixtures.path("video/\(file)"))
  }

  /// The number that a counting clip shows, bit k in the k-th of eight blocks.
  static func number(_ image: RGBImage) -> Int {
    let isWide = image.width > image.height
    return (0..<8).reduce(0) { sum, bit in
      let (x, y) = isWide ? (16 * bit + 8, 32) : (32, 16 * bit + 8)
      return sum | (image.pixels[(y * image.width + x) * 3] > 127 ? 1 << bit : 0)
    }
  }

  static func numbers(_ reader: VideoReader, fps: Double, maxFrames: Int) throws -> [Int] {
    try reader.frames(reader.timeline.even(fps: fps, maxFrames: maxFrames)).map {
      number($0.image)
    }
  }

  @Test func constantRate() throws {
    let reader = try Self.open("count-30fps-2s.mp4")
    #expect((reader.width, reader.height, reader.rotation) == (128, 64, 0))
    #expect(reader.durationSeconds == 2 && reader.frameCount == 60 && !reader.hasAudio)
    #expect(reader.framesPerSecond == 30)
    #expect(try Self.numbers(reader, fps: 1, maxFrames: 8) == [0, 30])
    #expect(try Self.numbers(reader, fps: 30, maxFrames: 100) == Array(0..<60))
    #expect(try Self.numbers(reader, fps: 4, maxFrames: 8) == [0, 7, 15, 22, 30, 37, 45, 52])
    let choices = reader.timeline.even(fps: 1, maxFrames: 8)
    #expect(choices.map(\.seconds) == [0, 1])
    #expect(choices.map(\.label) == ["00:00", "00:01"])
    let sampled = try reader.frames(reader.timeline.reference(numFrames: 7))
    #expect(sampled.map { Self.number($0.image) } == [0, 8, 17, 25, 34, 42, 51])
  }

  @Test func variableRate() throws {
    let reader = try Self.open("count-vfr.mp4")
    #expect(reader.frameCount == 39)
    let choices = reader.timeline.even(fps: 2, maxFrames: 8)
    for (frame, choice) in zip(try reader.frames(choices), choices) {
      #expect(abs(Double(Self.number(frame.image)) - 30 * choice.seconds) < 0.01)
    }
  }

  @Test func rotated() throws {
    let reader = try Self.open("count-rot-cw90.mp4")
    #expect((reader.width, reader.height, reader.rotation) == (64, 128, 90))
    #expect(try Self.numbers(reader, fps: 10, maxFrames: 100) == Array(0..<20))
  }

  @Test func framesWithoutPresentationTimesAreCounted() throws {
    let reader = try Self.open("count-bframes.avi")
    #expect(reader.frameCount == 60 && reader.durationSeconds == 2)
    #expect(try Self.numbers(reader, fps: 4, maxFrames: 8) == [0, 7, 15, 22, 30, 37, 45, 52])
  }

  @Test func cutFilesGiveWhatIsThere() throws {
    let reader = try Self.open("count-cut.mp4")
    #expect((1...1.9).contains(reader.durationSeconds) && reader.warnings.count == 1)
    let choices = reader.timeline.even(fps: 10, maxFrames: 8)
    for frame in try reader.frames(choices) {
      #expect(abs(Double(Self.number(frame.image)) - 30 * frame.choice.seconds) < 0.01)
    }
  }

  @Test func animatedGIF() throws {
    let reader = try Self.open("gif-as-video.gif")
    #expect(reader.durationSeconds == 3 && reader.frameCount == 30)
    #expect(try Self.numbers(reader, fps: 1, maxFrames: 8) == [0, 10, 20])
  }

  @Test func animationsKeepTheirDelays() throws {
    let gif = try VideoReader(path: Fixtures.path("images/blocks-animated.gif"))
    #expect(gif.timeline.times == [0, 100, 300, 350, 750] && gif.timeline.duration == 850)
    let webp = try VideoReader(path: Fixtures.path("images/blocks-animated.webp"))
    #expect(webp.timeline.times == [0, 100, 200, 300, 400] && webp.durationSeconds == 0.5)
    let all = try webp.frames(webp.timeline.reference(numFrames: 5))
    #expect(Set(all.map(\.image.pixels)).count == 5)
    let first = try ImageFile.decode(path: Fixtures.path("images/blocks-animated.webp"))
    #expect(all[0].image == first.image)
  }

  @Test func oneFrame() throws {
    let reader = try Self.open("one-frame.mp4")
    #expect(reader.frameCount == 1)
    #expect(try Self.numbers(reader, fps: 1, maxFrames: 8) == [0])
    let still = try VideoReader(path: Fixtures.path("images/exif-orientation-6.jpg"))
    #expect((still.width, still.height, still.frameCount) == (320, 200, 1))
    #expect(still.timeline.even(fps: 1, maxFrames: 8).count == 1)
  }

  @Test(arguments: [
    ("slide", 2.0, [0, 2, 5, 7], [0, 1, 2.5, 3.5]), ("slow", 0.08, [0, 2, 4, 6], [0, 25, 50, 75]),
  ])
  func folderOfFrames(name: String, fps: Double, indices: [Int], seconds: [Double]) throws {
    let reader = try VideoReader(folder: Fixtures.path("goldens/media/videos/\(name)"), fps: fps)
    let choices = reader.timeline.reference(numFrames: 4)
    #expect(choices.map(\.index) == indices && choices.map(\.seconds) == seconds)
    #expect(abs(reader.durationSeconds - Double(reader.frameCount) / fps) < 1e-6)
    let geometry = try ImageGeometry(patchSize: 8, poolingKernel: 3, maxSoftTokens: 70)
    let preprocessor = ImagePreprocessor(geometry: geometry)
    let levels = try reader.frames(choices).flatMap { try preprocessor.patches($0.image).levels }
    let checksum = try PatchChecksums.of("video.\(name).patches_u8")
    #expect(CRC32.of(levels) == checksum)
  }

  @Test(arguments: [
    "bbb-hevc.mp4", "bbb-vp9-opus.webm", "bbb-av1.mp4", "carphone-176x144-noaudio.mp4",
  ]) func codecs(file: String) throws {
    let reader = try Self.open(file)
    let frames = try reader.frames(reader.timeline.even(fps: 4, maxFrames: 8))
    #expect(frames.count >= 4)
    for frame in frames {
      #expect((frame.image.width, frame.image.height) == (reader.width, reader.height))
    }
  }

  @Test(arguments: ["empty.mp4", "random-bytes.mp4", "audio-only.mp4"])
  func unusableFilesAreRefused(file: String) throws {
    let path = Fixtures.path("video/\(file)")
    let error = try #require(throws: MediaError.self) { try VideoReader(path: path) }
    #expect(error.description.hasPrefix("\(path): expected"))
    #expect(!error.description.contains("\n"))
  }

  @Test func samplingEqualsTheReference() throws {
    let tables = try Fixtures.json("goldens/tables.json", as: Tables.self)
    for row in tables.frameSampling {
      let timeline = try #require(Clips.steady(frames: row.totalNumFrames, fps: 24))
      let choices = timeline.reference(numFrames: row.numFrames)
      #expect(choices.map(\.index) == row.indices)
    }
    for row in tables.timestamps {
      #expect(FrameChoice.label(seconds: row.seconds) == row.text)
    }
  }

  @Test func kinds() throws {
    let expected: [(String, MediaKind)] = [
      ("video/gif-as-video.gif", .image), ("images/blocks-animated.webp", .image),
      ("images/png-named.jpg", .image), ("images/hopper.avif", .image),
      ("images/heic-rgb8.heif", .image), ("video/audio-only.mp4", .audio),
      ("video/count-vfr.mp4", .video), ("video/bbb-vp9-opus.webm", .video),
      ("audio/speech.mp3", .audio), ("audio/cover.mp3", .audio), ("audio/speech.opus", .audio),
      ("audio/speech.m4a", .audio),
    ]
    for (file, kind) in expected {
      #expect(try MediaProbe.kind(path: Fixtures.path(file)) == kind, "\(file)")
    }
    #expect(throws: MediaError.self) {
      try VideoReader(path: Fixtures.path("audio/cover.mp3"))
    }
    for file in ["images/text-named.png", "images/picture.svg", "video/random-bytes.mp4"] {
      #expect(throws: MediaError.self) { try MediaProbe.kind(path: Fixtures.path(file)) }
    }
  }
}
