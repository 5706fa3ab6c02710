import Foundation
import TestSupport
import Testing

/// The contract of the command: exit codes, one-line errors, JSON.
@Suite struct CommandLineTests {
  struct Outcome {
    let code: Int32
    let output: String
    let errors: String
  }

  /// The command built beside this test bundle.
  static let executable: URL = {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for bundle in Bundle.allBundles where bundle.bundlePath.hasSuffix(".xctest") {
      folder = bundle.bundleURL.deletingLastPathComponent()
    }
    let candidates = [
      folder, Bundle.main.bundleURL, Bundle.main.bundleURL.deletingLastPathComponent(),
    ]
    return candidates.map { $0.appendingPathComponent("troika") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
      ?? folder.appendingPathComponent("troika")
  }()

  static func run(
    _ arguments: [String],
    input: String = "",
    environment: [String: String] = [:]
  ) throws -> Outcome {
    let process = Process()
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.executableURL = executable
    process.arguments = arguments
    let (output, errors, source) = (Pipe(), Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = source
    try process.run()
    source.fileHandleForWriting.write(Data(input.utf8))
    try source.fileHandleForWriting.close()
    let made = output.fileHandleForReading.readDataToEndOfFile()
    let said = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(
      code: process.terminationStatus,
      output: String(decoding: made, as: UTF8.self),
      errors: String(decoding: said, as: UTF8.self)
    )
  }

  @Test(arguments: [
    "generate", "chat", "inspect", "tokenize", "verify", "devices", "plan", "bundle", "bench",
    "place", "report",
  ])
  func everyCommandHasHelpWithAnExample(_ command: String) throws {
    let outcome = try Self.run([command, "--help"])
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("Example:\n"))
    #expect(outcome.output.contains("troika \(command)"))
    let widest = outcome.output.split(separator: "\n").map(\.count).max() ?? 0
    #expect(widest <= 100)
  }

  static let mistakes: [([String], Int32)] = [
    (["bundle", "--synthetic", "tiny", "--out", ""], 64),
    (["dance"], 64), (["generate"], 64), (["generate", "--model"], 64),
    (["generate", "--model", "X", "--max-tokens", "-1", "hi"], 64),
    (["generate", "--model", "X", "--temperature", "hot", "hi"], 64),
    (["generate", "--model", "X", "--placement", "vision=tpu", "hi"], 65),
    (["generate", "--model", "/nonexistent", "hi"], 65),
    (["generate", "--model", GoldenFolder.model, ""], 65),
    (["generate", "--model", GoldenFolder.model, "--chunks", "3,5", "hi"], 64),
    (["generate", "--model", GoldenFolder.model, "--context", "4", "hello there you"], 65),
    (["generate", "--model", GoldenFolder.model, "--kernels", "sse9", "hi"], 64),
    (["generate", "--model", GoldenFolder.model, "--placement", "chunk9=reference", "hi"], 65),
    (["generate", "--model", GoldenFolder.model, "--placement", "nosuch.*=reference", "hi"], 65),
    (["generate", "--model", GoldenFolder.model, "--trace", "/nonexistent/x", "hi"], 65),
    (["inspect", "/nonexistent", "--frame-sampling", "odd"], 64),
    (["generate", "--model", GoldenFolder.model, "--image", "/nonexistent.png", "hi"], 65),
    (["generate", "--model", GoldenFolder.model, "look at <|image|>"], 65),
    (["inspect", "/nonexistent"], 65), (["inspect"], 64),
    (["tokenize", "--model", "/x", "hi"], 65),
    (["tokenize", "--model", GoldenFolder.model, "--decode", "99999999"], 65),
    (["tokenize", "--model", GoldenFolder.model, "--decode", "x"], 65),
    (["verify", "--model", GoldenFolder.model, "--goldens", "/nonexistent"], 65),
    (
      ["verify", "--model", GoldenFolder.model, "--goldens", GoldenFolder.tiny, "--stage", "x"], 64
    ),
  ]

  @Test(arguments: mistakes)
  func mistakesGetOneLineAndTheirCode(_ arguments: [String], _ code: Int32) throws {
    let outcome = try Self.run(arguments)
    #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count == 1, "\(arguments): \(outcome.errors)")
    #expect(outcome.errors.hasPrefix("troika: "))
  }

  /// Runs a command until something lies in a folder of its own, interrupts it, and expects its code
  /// and an empty folder.
  private func interrupt(
    _ signal: Int32,
    _ words: (_ folder: URL) -> [String]
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let process = Process()
    process.executableURL = Self.executable
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) {
      $1
    }
    process.arguments = words(folder)
    process.standardError = Pipe()
    try process.run()
    while try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty,
      process.isRunning
    {
      usleep(1000)
    }
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 130)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func anInterruptedBundleEndsWithItsCodeAndLeavesNothing(_ signal: Int32) throws {
    try interrupt(signal) { folder in
      ["bundle", "--synthetic", "e2b", "--out", folder.appendingPathComponent("model").path]
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func anInterruptedBenchLeavesNothing(_ signal: Int32) throws {
    try interrupt(signal) { _ in
      ["bench", "--model", GoldenFolder.model, "--units", "reference", "--repeat", "10000"]
    }
  }

  @Test func aBundleIsInspectedInPlainLines() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let made = try Self.run(["bundle", "--synthetic", "tiny", "--out", folder.path])
    #expect(made.code == 0)
    let outcome = try Self.run(["inspect", folder.path])
    #expect(outcome.code == 0)
    let lines = outcome.output.split(separator: "\n").map(String.init)
    #expect(!outcome.output.contains("\"") && !outcome.output.contains("{"))
    #expect(lines.allSatisfy { $0.count <= 80 })
    let config = try Data(contentsOf: folder.appendingPathComponent("config.json"))
    let line = lines.first { $0.hasPrefix("files") && $0.contains("config.json ") }
    #expect(line?.hasSuffix(" \(config.count)") == true, "\(line ?? "")")
    #expect(lines.contains { $0.contains("weights/chunk1.safetensors") })
    #expect(
      lines.contains { $0.hasPrefix("programs") && $0.contains("chunk1.decode chunk2.decode") }
    )
  }

  @Test func aBundlesSummaryFitsEightyColumns() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let outcome = try Self.run(["bundle", "--model", GoldenFolder.model, "--out", folder.path])
    #expect(outcome.code == 0)
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("worst of chunk1 int4Palette32: ") })
    // The last line begins with the path.
    #expect(lines.dropLast().allSatisfy { $0.count <= 80 })
  }

  @Test func jsonIsOneDocument() throws {
    let outcome = try Self.run([
      "generate", "--model", GoldenFolder.model, "--image",
      GoldenFolder.url("media/images/wide.png").path, "--max-tokens", "4", "--json",
      "Describe this image",
    ])
    #expect(outcome.code == 0)
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    let document = try #require(object as? [String: Any])
    #expect(document["promptTokens"] as? Int == 83)
    #expect(document["softTokens"] as? Int == 65)
    #expect((document["tokens"] as? [Int])?.count == 4)
    #expect(document["finishReason"] as? String == "length")
    #expect((document["timeline"] as? [[String: Any]])?.isEmpty == false)
    let timings = try #require(document["timings"] as? [String: Int])
    #expect((timings["totalNs"] ?? 0) >= (timings["firstTokenNs"] ?? .max))
  }

  @Test func imagesAreInspectedAsTheReferencePreparesThem() throws {
    let outcome = try Self.run([
      "inspect", GoldenFolder.url("media/images/rotated.jpg").path, "--json",
    ])
    #expect(outcome.code == 0)
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    let document = try #require(object as? [String: Any])
    #expect(document["kind"] as? String == "image")
    #expect(document["width"] as? Int == 80)
    #expect(document["height"] as? Int == 120)
    #expect(document["orientation"] as? Int == 6)
    #expect(document["resizedWidth"] as? Int == 624)
    #expect(document["resizedHeight"] as? Int == 960)
    #expect(document["softTokens"] as? Int == 260)
  }

  @Test(arguments: [(512, 1, 0), (2048, 7, 6), (8192, 30, 24)])
  func framesThatFitFollowTheSourceDocument(_ context: Int, _ fit: Int, _ most: Int) throws {
    let outcome = try Self.run(["inspect", "--context", "\(context)", "--json"])
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    let budget = try #require((object as? [String: Any])?["context"] as? [String: Any])
    let dense = try #require(budget["at256"] as? [String: Int])
    #expect(dense["tokensPerFrame"] == 261)
    #expect(dense["framesThatFit"] == fit)
    #expect(dense["recommendedMaxFrames"] == most)
  }

  @Test func tokensGoBothWays() throws {
    let there = try Self.run(["tokenize", "--model", GoldenFolder.model, "Hello, world!"])
    #expect(there.output == "410 586 441 385 826 776 378\n")
    let back = try Self.run(
      ["tokenize", "--model", GoldenFolder.model, "--decode"],
      input: there.output
    )
    #expect(back.output == "Hello, world!\n")
  }

  @Test func chatReadsLinesFromAPipe() throws {
    let input =
      "/image \(GoldenFolder.url("media/images/wide.png").path)\nWhat?\n/nope\nAnd?\n/quit\n"
    let outcome = try Self.run(
      ["chat", "--model", GoldenFolder.model, "--max-tokens", "3"],
      input: input
    )
    #expect(outcome.code == 0)
    #expect(outcome.output.split(separator: "\n").count >= 2)
    #expect(outcome.errors.contains("/nope"))
  }
}
