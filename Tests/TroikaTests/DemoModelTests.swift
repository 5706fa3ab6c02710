import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing
import Troika

/// The demo model's answers are the reference implementation's.
@Suite struct DemoModelTests {
  static let folder = GoldenFolder.root.appendingPathComponent("Examples/demo")

  private static func items() throws -> [DemoItem] {
    let other = ProcessInfo.processInfo.environment["TROIKA_DEMO_ITEMS"]
    return try DemoItem.read(
      other.map { URL(fileURLWithPath: $0) } ?? folder.appendingPathComponent("expected.jsonl")
    )
  }

  @Test func mediaAreDrawnPixelForPixel() throws {
    let items = try Self.items()
    #expect(items.count >= 300)
    for scene in items.flatMap(\.media) {
      if scene.kind == "sound" {
        let bytes = scene.sound().flatMap { sample in
          [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)]
        }
        #expect([SHA256.hex(bytes)] == scene.sha256)
      } else {
        let frames = (0..<scene.frameCount).map { SHA256.hex(scene.pixels(frame: $0)) }
        #expect(frames == scene.sha256)
      }
    }
  }

  /// Answers every item; returns those that differ from the reference's.
  private static func differing(
    _ placement: String,
    every step: Int = 1,
    model: URL? = nil
  ) async throws -> [String] {
    let troika = try await Troika.load(
      model: model ?? folder.appendingPathComponent("model"),
      options: .init(placement: try Placement(parsing: placement), threads: 2)
    )
    let scratch = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    var wrong: [String] = []
    for (index, item) in try items().enumerated() where index % step == 0 {
      let sources = try item.media.enumerated().map { place, scene in
        try source(scene, in: scratch, named: "\(item.id)-\(place)")
      }
      let request = try Request(
        prompt: item.question,
        media: sources,
        options: GenerationOptions(maxTokens: 40)
      )
      let response = try await troika.respond(to: request)
      #expect(response.promptTokens == item.promptTokens, "\(item)")
      if response.tokens != item.tokens {
        wrong.append("\(item): expected '\(item.answer)', got '\(response.text)'")
      }
    }
    return wrong
  }

  private static func source(
    _ scene: DemoScene,
    in folder: URL,
    named name: String
  ) throws -> MediaSource {
    let (width, height) = scene.size
    switch scene.kind {
    case "sound":
      let url = folder.appendingPathComponent(name + ".wav")
      try PlainFiles.wav(scene.sound(), rate: 16_000).write(to: url)
      return .audio(url)
    case "clip":
      let url = folder.appendingPathComponent(name + ".avi")
      let frames = (0..<scene.frameCount).map { scene.pixels(frame: $0) }
      try PlainFiles.avi(frames, width: width, height: height).write(to: url)
      return .video(url, VideoOptions())
    default:
      let url = folder.appendingPathComponent(name + ".bmp")
      try PlainFiles.bmp(scene.pixels(), width: width, height: height).write(to: url)
      return .image(url)
    }
  }

  /// A question about the example files.
  private struct FileItem: Decodable {
    let media: [String]
    let question: String
    let answer: String
    let tokens: [Int]
  }

  @Test func theExampleFilesGetTheReferenceAnswers() async throws {
    let text = try String(
      contentsOf: Self.folder.appendingPathComponent("files.jsonl"),
      encoding: .utf8
    )
    let items = try text.split(separator: "\n").map {
      try JSONDecoder().decode(FileItem.self, from: Data($0.utf8))
    }
    let troika = try await Troika.load(model: Self.folder.appendingPathComponent("model"))
    for item in items {
      let sources = item.media.map { name -> MediaSource in
        let url = Self.folder.appendingPathComponent(name)
        switch url.pathExtension {
        case "mp4": return .video(url, VideoOptions())
        case "wav": return .audio(url)
        default: return .image(url)
        }
      }
      let response = try await troika.respond(
        to: try Request(prompt: item.question, media: sources)
      )
      #expect(response.text == item.answer, "\(item.question)")
      #expect(response.tokens == item.tokens)
    }
    #expect(items.count >= 10)
  }

  @Test func theProcessorGivesTheReferenceAnswers() async throws {
    let wrong = try await Self.differing("cpu")
    #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
  }

  @Test(
    .enabled(if: (try? Registry(threads: 1).unit(.gpu)) != nil, "did not run: no Vulkan device"),
    arguments: ["mission", "audio=gpu", "gpu"]
  )
  func aVulkanDeviceGivesThemOnNinetyNineOfAHundred(_ placement: String) async throws {
    let wrong = try await Self.differing(placement, every: 3)
    #expect(wrong.count <= 1, "\(wrong.joined(separator: "\n"))")
  }

  @Test(arguments: ["chunks=neuralEngine", "gpu:emulated"])
  func halfUnitsGiveThemOnNinetyNineOfAHundred(_ placement: String) async throws {
    let wrong = try await Self.differing(placement, every: 3)
    #expect(wrong.count <= 1, "\(wrong.joined(separator: "\n"))")
  }

  @Test(arguments: [(WeightFormat.int8, 1), (.int4, 5), (.int4Linear, 5)])
  func quantisedBundlesGiveThem(_ weights: WeightFormat, missing percent: Int) async throws {
    let bundle = try TemporaryBundle(of: Self.folder.path + "/model", weights)
    let wrong = try await Self.differing("cpu", model: bundle.url)
    let count = try Self.items().count
    print(
      "demo model, \(weights.rawValue) bundle: \(count - wrong.count) of \(count) answers equal"
    )
    #expect(wrong.count * 100 <= count * percent, "\(wrong.joined(separator: "\n"))")
  }
}
