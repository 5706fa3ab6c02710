import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing
@testable import Troika

/// Bundles answer as the folders that they were made from, and damaged ones are refused.
@Suite struct BundleTests {
  private static func failures(
    _ bundle: TemporaryBundle,
    _ placement: String
  ) throws -> (gated: Int, failed: [Check]) {
    let verification = try Verification(
      model: ModelFolder(path: bundle.url.path),
      goldens: GoldenFolder.tiny,
      placement: try Placement(parsing: placement),
      registry: Registry(threads: 2)
    )
    let checks = try verification.run(stages: nil).filter(\.isGated)
    return (checks.count, checks.filter { !$0.holds })
  }

  @Test(arguments: ["cpu", "chunks=neuralEngine", "vision=gpu:emulated"])
  func halfWeightsHoldEveryCheckOfTheFolder(_ placement: String) throws {
    let bundle = try TemporaryBundle(of: GoldenFolder.model, .f16)
    let (count, failed) = try Self.failures(bundle, placement)
    #expect(count == 520)
    #expect(failed.isEmpty, "\(failed)")
  }

  @Test(arguments: ["cpu", "chunks=neuralEngine"])
  func byteWeightsHoldTheirGate(_ placement: String) throws {
    let bundle = try TemporaryBundle(of: GoldenFolder.model, .int8)
    let (count, failed) = try Self.failures(bundle, placement)
    #expect(count > 400)
    #expect(failed.isEmpty, "\(failed)")
  }

  @Test func aRandomModelRunsWithMedia() async throws {
    let synthetic = try SyntheticModel(.tiny, seed: 7)
    let text = synthetic.model.configuration.text
    let writer = BundleWriter(
      weights: .int4,
      layout: ChunkLayout(standardFor: text),
      prefill: [16, 64],
      context: 512
    )
    let bundle = try TemporaryBundle(synthetic.source, writer)
    let twin = try TemporaryBundle(SyntheticModel(.tiny, seed: 7).source, writer)
    let other = try TemporaryBundle(SyntheticModel(.tiny, seed: 8).source, writer)
    func manifest(_ bundle: TemporaryBundle) throws -> BundleManifest {
      try ModelBundle(folder: bundle.url.path).manifest
    }
    #expect(try manifest(bundle) == manifest(twin))
    #expect(try manifest(bundle) != manifest(other))
    let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")
    let options = GenerationOptions(maxTokens: 8, ignoresStopTokens: true)
    for placement in ["cpu", "mission"] {
      let troika = try await Troika.load(
        model: bundle.url,
        options: .init(placement: try Placement(parsing: placement), threads: 2)
      )
      #expect(troika.context == 512)
      let response = try await troika.respond(
        to: Request(
          prompt: "what is this",
          media: [
            .image(demo.appendingPathComponent("picture.png")),
            .audio(demo.appendingPathComponent("sound.wav")),
          ],
          options: options
        )
      )
      #expect(response.tokens.count == 8)
      #expect(response.softTokens > 40)
    }
  }

  @Test func typesWithoutFilesAreTheBundles() throws {
    let synthetic = try SyntheticModel(.tiny)
    let layout = ChunkLayout(standardFor: synthetic.model.configuration.text)
    let types = try synthetic.types(.int4, layout)
    let bundle = try TemporaryBundle(
      synthetic.source,
      BundleWriter(weights: .int4, layout: layout, prefill: [64], context: 256)
    )
    let opened = try ModelBundle(folder: bundle.url.path)
    for name in opened.tensorNames { #expect(types.type(of: name) == opened.type(of: name)) }
  }

  @Test func programsAreListedOnceAndFitTheContext() throws {
    let bundle = try TemporaryBundle(
      of: GoldenFolder.model,
      .f16,
      prefill: [1, 64, 512],
      context: 256
    )
    let names = try ModelBundle(folder: bundle.url.path).manifest.programs.map(\.name)
    #expect(Set(names).count == names.count)
    let first = names.filter { $0.hasPrefix("chunk1.") }
    #expect(first == ["chunk1.decode", "chunk1.prefill64", "chunk1.prefill256"])
  }

  @Test(arguments: WeightFormat.allCases)
  func aNumberThatIsNotFiniteIsNamedWithItsFile(_ weights: WeightFormat) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(atPath: GoldenFolder.model, toPath: folder.path)
    defer { try? FileManager.default.removeItem(at: folder) }
    let name = "model.language_model.layers.0.mlp.up_proj.weight"
    let checkpoint = try Checkpoint(folder: folder.path)
    let (entry, file) = (try #require(checkpoint.entry(name)), checkpoint.fileName(of: name))
    let url = folder.appendingPathComponent(file)
    var data = try Data(contentsOf: url)
    let size = entry.range.count / entry.shape.elementCount
    for index in 0..<size { data[entry.range.lowerBound + index] = 0xFF }
    try data.write(to: url)
    let error = #expect(throws: CheckpointError.self) {
      try TemporaryBundle(of: folder.path, weights)
    }
    #expect(error?.description.hasPrefix("\(file): tensor") == true, "\(error.debugDescription)")
    #expect(error?.description.hasSuffix("came 1 other") == true, "\(error.debugDescription)")
  }

  @Test func givingUpLeavesNothing() throws {
    let making = try BundleMaking()
    defer { withExtendedLifetime(making) {} }
    let (folder, synthetic, writer) = (making.folder, making.synthetic, making.writer)
    let path = folder.appendingPathComponent("model").path
    #expect(throws: BundleError.cancelled(path: path)) {
      try writer.write(synthetic.source, to: path) { done, _ in done < 100_000 }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    // The last call of all comes while the last file is digested.
    var last = 0
    #expect(throws: BundleError.cancelled(path: path)) {
      try writer.write(synthetic.source, to: path) { done, total in
        if done == total { last += 1 }
        return last < 2
      }
    }
    #expect(last == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
    #expect(throws: BundleError.exists(path: path)) {
      try writer.write(synthetic.source, to: path)
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    #expect(throws: BundleError.exists(path: path)) {
      try writer.write(synthetic.source, to: path)
    }
  }

  @Test func longNamesWorkOrAreRefusedByTheirOwnName() throws {
    let making = try BundleMaking()
    defer { withExtendedLifetime(making) {} }
    let (folder, synthetic, writer) = (making.folder, making.synthetic, making.writer)
    let longest = folder.appendingPathComponent(String(repeating: "n", count: 255)).path
    _ = try writer.write(synthetic.source, to: longest)
    try ModelBundle(folder: longest).checkDigests()
    let tooLong = longest + "n"
    let error = #expect(throws: FileError.self) { try writer.write(synthetic.source, to: tooLong) }
    guard case .unwritable(let path, _) = error else { return #expect(Bool(false)) }
    #expect(path == tooLong)
  }

  @Test func errorsShowTheFinalPath() throws {
    let making = try BundleMaking()
    defer { withExtendedLifetime(making) {} }
    let (folder, synthetic, writer) = (making.folder, making.synthetic, making.writer)
    let path = folder.appendingPathComponent("model").path
    let error = #expect(throws: FileError.self) {
      try writer.write(synthetic.source, to: path) { _, _ in
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
          try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        return true
      }
    }
    #expect(error?.description.hasPrefix(path + "/") == true, "\(error.debugDescription)")
  }

  @Test func theSecondOfTwoBundlesOfOneNameFindsItTaken() throws {
    let making = try BundleMaking()
    defer { withExtendedLifetime(making) {} }
    let (folder, synthetic, writer) = (making.folder, making.synthetic, making.writer)
    let path = folder.appendingPathComponent("model").path
    var other: Result<[BundleWriter.TensorReport], any Error>?
    #expect(throws: BundleError.exists(path: path)) {
      try writer.write(synthetic.source, to: path) { _, _ in
        if other == nil { other = Result { try writer.write(synthetic.source, to: path) } }
        return true
      }
    }
    #expect(throws: Never.self) { try other?.get() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["model"])
    try ModelBundle(folder: path).checkDigests()
  }

  @Test func cutsThatTheEngineRefusesAreNamedWithOneThatFits() throws {
    let synthetic = try SyntheticModel(.e2b)
    func fit(_ weights: WeightFormat, _ ends: [Int]) throws -> [String] {
      let layout = try #require(ChunkLayout(ends: ends, layerCount: 35))
      let writer = BundleWriter(weights: weights, layout: layout, prefill: [64], context: 2048)
      return try EngineFit(writer, synthetic.source).warnings
    }
    #expect(try fit(.int4, [8, 15, 25, 35]).isEmpty)
    #expect(try fit(.int4, [8, 25, 35]).isEmpty)
    let merged = try fit(.int4, [35])
    #expect(merged.count == 2)
    #expect(merged.first?.contains("1000000000") == true)
    #expect(merged.last?.hasPrefix("--chunks ") == true)
    let half = try fit(.f16, [8, 15, 25, 35])
    #expect(half.count > 1)
    let named = try #require(half.last?.split(separator: " ").dropFirst().first)
    #expect(try fit(.f16, named.split(separator: ",").compactMap { Int($0) }).isEmpty)
  }
}

/// What it takes to make a bundle of a small random model in an empty folder, which goes away with it.
private final class BundleMaking {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  let synthetic: SyntheticModel
  let writer: BundleWriter

  init() throws {
    synthetic = try SyntheticModel(.tiny)
    writer = BundleWriter(
      weights: .int8,
      layout: ChunkLayout(standardFor: synthetic.model.configuration.text),
      prefill: [64],
      context: 256
    )
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}
