import Devices
import Foundation
import Graph
import Media
import Models
import TestSupport
import Testing

@testable import Troika

@Suite struct MediaRequestTests {
  private static let media = GoldenFolder.root.appendingPathComponent("Tests/MediaTests/Fixtures")
  private let short = GenerationOptions(maxTokens: 3, ignoresStopTokens: true)

  private static func fixture(_ suffix: String) throws -> URL {
    let all = FileManager.default.enumerator(at: media, includingPropertiesForKeys: nil)
    let found = all?.compactMap { $0 as? URL }.first { $0.path.hasSuffix(suffix) }
    return try #require(found, "no fixture \(suffix)")
  }

  @Test func poolingDropsOddRowsAndColumns() throws {
    #expect(FramePooling.tokenCount(rows: 16, columns: 16) == 64)
    #expect(FramePooling.tokenCount(rows: 14, columns: 19) == 63)
    #expect(FramePooling.tokenCount(rows: 1, columns: 1) == 1)
    #expect(FramePooling.tokenCount(rows: 1, columns: 70) == 35)
    let grid = try Value((0..<15).map { Float($0) }, [15, 1])
    #expect(try FramePooling.pool(grid, rows: 3, columns: 5).floats == [3, 5])
    #expect(try FramePooling.pool(grid, rows: 1, columns: 15).floats.prefix(2) == [0.5, 2.5])
  }

  @Test func placeholdersEqualEncoderRowsForAnySize() throws {
    var random = RandomNumbers(seed: 3)
    for geometry in [ImageGeometry.e2bImage, .e2bVideo] {
      for _ in 0..<3000 {
        let width = Int.random(in: 1...5000, using: &random)
        let height = Int.random(in: 1...5000, using: &random)
        guard let target = try? geometry.target(width: width, height: height) else { continue }
        let patches = target.width / geometry.patchSize * (target.height / geometry.patchSize)
        let tokens = geometry.softTokenCount(
          targetWidth: target.width,
          targetHeight: target.height
        )
        #expect(patches == tokens * 9 && tokens >= 1 && tokens <= geometry.maxSoftTokens)
      }
    }
  }

  @Test func placeholdersEqualEncoderRowsForAnyLength() throws {
    let mel = try LogMel()
    for samples in Array(1...2000) + stride(from: 2000, through: 480_000, by: 9973) {
      let counts = mel.counts(sampleCount: samples)
      #expect(counts.softTokens == AudioConfiguration.tokens(frames: counts.validFrames))
      #expect(AudioConfiguration.tokens(frames: counts.frames) >= counts.softTokens)
    }
  }

  @Test func fixedShapesGiveTheSameFeatures() throws {
    let folder = try ModelFolder(path: GoldenFolder.model)
    let store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: Registry(threads: 2),
      placement: Placement()
    )
    let exact = Encoders(store: store, model: folder.model)
    let bucketed = Encoders(
      store: store,
      model: folder.model,
      visionShapes: .bucketed,
      audioShapes: .bucketed
    )
    let sound = try AudioFile.decode(path: GoldenFolder.url("media/audio/odd_length.wav").path)
    let block = PreparedAudio(mel: try LogMel(parameters: folder.processor.mel)(sound.samples))
    let picture = try ImageFile.decode(path: GoldenFolder.url("media/images/tall.png").path)
    let image = PreparedImage(
      patches: try ImagePreprocessor(geometry: folder.processor.image).patches(picture.image),
      scale: .image
    )
    for (one, other) in [
      (try exact.encode(block), try bucketed.encode(block)),
      (try exact.encode(image), try bucketed.encode(image)),
    ] {
      let (a, b) = (one.features.floats, other.features.floats)
      #expect(a.count == b.count)
      #expect(zip(a, b).allSatisfy { abs($0 - $1) < 1e-4 })
    }
    #expect(AudioConfiguration.bucket(frames: 201) == 500)
    #expect(folder.model.configuration.vision?.bucket(patches: 540) == 630)
  }

  @Test func tapsChangeNoBit() throws {
    let folder = try ModelFolder(path: GoldenFolder.model)
    let store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: Registry(threads: 2),
      placement: Placement()
    )
    let encoders = Encoders(store: store, model: folder.model)
    let picture = try ImageFile.decode(path: GoldenFolder.url("media/images/wide.png").path)
    let image = PreparedImage(
      patches: try ImagePreprocessor(geometry: folder.processor.image).patches(picture.image),
      scale: .image
    )
    let plain = try encoders.encode(image).features.floats
    let tapped = try encoders.encode(image, taps: ["embed", "layers.0", "layers.1", "pooled"])
    #expect(tapped.features.floats == plain)
    #expect(tapped.outputs.count == 5)

    func logits(_ taps: Set<String>) throws -> [Float] {
      let session = try DecoderSession(
        store: store,
        text: folder.model.text,
        layout: ChunkLayout(standardFor: folder.model.configuration.text),
        placement: Placement(),
        context: 64,
        batch: 64
      )
      let ids = (0..<20).map { Int32($0 * 7 + 200) }
      let rows = DecoderSession.Rows(
        ids: ids,
        perLayerIds: ids,
        features: [],
        blocks: ids.map { _ in 0 }
      )
      let result = try session.step(rows, wanted: .all, phase: .prefill, taps: taps)
      return result.logits?.floats ?? []
    }
    #expect(try logits([]) == logits(["layers.0", "layers.5", "embeds", "ple", "norm"]))
  }

  @Test func aClipIsItsFramesAndPerhapsItsSound() async throws {
    let troika = try await GenerationTests.load()
    let clip = try Self.fixture("count-30fps-2s.mp4")
    let silent = try Request(
      prompt: "What?",
      media: [.video(clip, VideoOptions(fps: 2))],
      options: short
    )
    let response = try await troika.respond(to: silent)
    #expect(response.warnings.isEmpty)
    let asked = try Request(
      prompt: "What?",
      media: [.video(clip, VideoOptions(fps: 2, includeAudio: true))],
      options: short
    )
    let without = try await troika.respond(to: asked)
    #expect(without.tokens == response.tokens)
    #expect(without.warnings.contains { $0.contains("no sound track") })
    let visions = response.timeline.events.filter { $0.program == "vision" }
    #expect(visions.count == 4)
  }

  @Test(arguments: [1, 160, 161, 640, 1999])
  func tinySoundsRunOrAreNothing(_ samples: Int) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).wav")
    defer { try? FileManager.default.removeItem(at: url) }
    try PlainFiles.wav((0..<samples).map { Int16($0 % 100) }, rate: 16_000).write(to: url)
    let troika = try await GenerationTests.load()
    let request = try Request(prompt: "Hm?", media: [.audio(url)], options: short)
    let response = try await troika.respond(to: request)
    #expect(response.softTokens == LogMel.tokens(samples))
    #expect(response.tokens.count == 3)
  }

  @Test func longSoundGoesInAsBlocks() async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).wav")
    defer { try? FileManager.default.removeItem(at: url) }
    try PlainFiles.wav((0..<16_000 * 33).map { Int16($0 % 997) }, rate: 16_000).write(to: url)
    let troika = try await GenerationTests.load()
    let request = try Request(prompt: "What?", media: [.audio(url)], options: short)
    let response = try await troika.respond(to: request)
    #expect(response.softTokens == 750 + 75)
    #expect(response.warnings.contains { $0.contains("2 blocks") })
    #expect(response.timeline.events.count { $0.program == "audio" } == 2)
  }

  @Test func anOverlongClipIsRefusedBeforeEncoding() async throws {
    let troika = try await GenerationTests.load(context: 128)
    let clip = try Self.fixture("count-30fps-2s.mp4")
    let request = try Request(
      prompt: "What?",
      media: [.video(clip, VideoOptions(fps: 4))],
      options: short
    )
    let error = await #expect(throws: TroikaError.self) { try await troika.respond(to: request) }
    let text = error?.description ?? ""
    #expect(text.contains("8 frames of") && text.contains("context of 128"))
  }
}

extension LogMel {
  /// Soft tokens of a sound of a length, in samples.
  static func tokens(_ samples: Int) -> Int {
    (try? LogMel().counts(sampleCount: samples).softTokens) ?? -1
  }
}
