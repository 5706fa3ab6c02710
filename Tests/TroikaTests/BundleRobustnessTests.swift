import Foundation
import Models
import TestSupport
import Testing
import Troika

/// Damaged bundles are refused with one line; nothing crashes.
@Suite struct BundleRobustnessTests {
  private static func bundle() throws -> TemporaryBundle {
    let synthetic = try SyntheticModel(.tiny)
    return try TemporaryBundle(
      synthetic.source,
      BundleWriter(
        weights: .int4,
        layout: ChunkLayout(standardFor: synthetic.model.configuration.text),
        prefill: [64],
        context: 256
      )
    )
  }

  private static func files(_ bundle: TemporaryBundle) throws -> [String] {
    try ModelBundle(folder: bundle.url.path).manifest.files.map(\.path)
  }

  private static func refusal(_ bundle: TemporaryBundle) -> String? {
    do {
      _ = try ModelFolder(path: bundle.url.path)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func everyMissingOrShortFileIsNamed() throws {
    let bundle = try Self.bundle()
    for file in try Self.files(bundle) + ["manifest.json"] {
      let url = bundle.url.appendingPathComponent(file)
      let whole = try Data(contentsOf: url)
      // The manifest's last byte is a line end, which means nothing.
      try whole.dropLast(2).write(to: url)
      let short = Self.refusal(bundle)
      #expect(short?.contains(url.lastPathComponent) == true, "\(file): \(short ?? "accepted")")
      #expect(short?.contains("\n") == false)
      try FileManager.default.removeItem(at: url)
      if file != "manifest.json" {
        let missing = Self.refusal(bundle)
        #expect(missing?.contains(url.lastPathComponent) == true, "\(file)")
      }
      try whole.write(to: url)
    }
    #expect(Self.refusal(bundle) == nil)
  }

  @Test func aChangedWeightIsFoundWhenDigestsAreChecked() throws {
    let bundle = try Self.bundle()
    let url = bundle.url.appendingPathComponent("weights/chunk1.safetensors")
    var data = try Data(contentsOf: url)
    data[data.count - 1] ^= 1
    try data.write(to: url)
    let opened = try ModelBundle(folder: bundle.url.path)
    #expect(throws: BundleError.self) { try opened.checkDigests() }
  }

  @Test func aManifestThatLiesIsRefused() throws {
    let bundle = try Self.bundle()
    let url = bundle.url.appendingPathComponent("manifest.json")
    let text = try String(contentsOf: url, encoding: .utf8)
    let lies = [
      ("\"version\": 1", "\"version\": 2"), ("\"context\": 256", "\"context\": 257"),
      ("troika-bundle", "other-bundle"), ("\"int4\"", "\"int5\""),
      ("config.json", "../config.json"), ("weights/embed", "/etc/embed"),
      ("\"version\": 1", "\"version\": 1, \"extra\": 1"),
      ("\"path\": \"config.json\"", "\"path\": \"config.json\", \"mode\": 1"),
      ("\"name\": \"chunk1.decode\"", "\"name\": \"chunk1.decode\", \"unit\": \"cpu\""),
    ]
    for (old, new) in lies {
      #expect(text.contains(old), "\(old)")
      try text.replacingOccurrences(of: old, with: new).write(
        to: url,
        atomically: true,
        encoding: .utf8
      )
      #expect(Self.refusal(bundle)?.contains("manifest.json") == true, "\(new)")
    }
  }

  @Test func anUnlistedTokenizerConfigurationIsRefused() throws {
    let bundle = try Self.bundle()
    try Data("{}".utf8).write(to: bundle.url.appendingPathComponent("tokenizer_config.json"))
    #expect(Self.refusal(bundle)?.contains("tokenizer_config.json") == true)
  }

  @Test func aModelOfOnePositionIsRefused() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(atPath: GoldenFolder.model, toPath: folder.path)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("config.json")
    let text = try String(contentsOf: url, encoding: .utf8)
    let short = text.replacingOccurrences(
      of: "\"max_position_embeddings\": 131072",
      with: "\"max_position_embeddings\": 1"
    )
    try short.write(to: url, atomically: true, encoding: .utf8)
    #expect(short != text)
    let error = #expect(throws: JSONError.self) { try ModelFolder(path: folder.path) }
    #expect(error?.description.contains("max_position_embeddings") == true)
  }

  /// Random damage to headers and manifests: an error or an equal model, never a crash.
  @Test func fuzzedFilesNeverCrash() throws {
    let bundle = try Self.bundle()
    var numbers = RandomNumbers(seed: 11)
    let rounds =
      ProcessInfo.processInfo.environment["TROIKA_FUZZ_ITERATIONS"].flatMap(Int.init) ?? 400
    let files = try Self.files(bundle).filter { $0.hasPrefix("weights/") } + ["manifest.json"]
    var refused = 0
    for round in 0..<min(rounds, 20_000) {
      let url = bundle.url.appendingPathComponent(files[round % files.count])
      let whole = try Data(contentsOf: url)
      var data = whole
      let reach = min(data.count, 6000)
      for _ in 0..<1 + Int(numbers.next() % 3) {
        data[Int(numbers.next() % UInt64(reach))] = UInt8(truncatingIfNeeded: numbers.next())
      }
      try data.write(to: url)
      if Self.refusal(bundle) != nil { refused += 1 }
      try whole.write(to: url)
    }
    #expect(refused > 0)
    #expect(Self.refusal(bundle) == nil)
  }
}
