import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing
@testable import Troika

/// The reference implementation's numbers and tokens, on every unit and cut.
@Suite struct GoldenTests {
  static func failures(_ placement: String, stages: [String]? = nil) throws -> (Int, [Check]) {
    let verification = try Verification(
      model: ModelFolder(path: GoldenFolder.model),
      goldens: GoldenFolder.tiny,
      placement: try Placement(parsing: placement),
      registry: Registry(threads: 2)
    )
    let checks = try verification.run(stages: stages)
    #expect(verification.missing.isEmpty)
    return (checks.count, checks.filter { !$0.holds })
  }

  @Test(arguments: ["cpu", "reference"])
  func everyStageHolds(_ placement: String) throws {
    let (count, failures) = try Self.failures(placement)
    #expect(count == 520)
    #expect(failures.isEmpty, "\(failures.first.map { "\($0)" } ?? "")")
  }

  @Test(arguments: [
    "vision=reference", "chunk2=reference", "head=reference,embed=reference",
    "prefill=reference", "decode.chunk3=reference", "text.layers.4.*=reference",
    "*.self_attn.*=reference",
  ])
  func mixedPlacementsHold(_ placement: String) throws {
    let (count, failures) = try Self.failures(placement, stages: ["vision", "multimodal"])
    #expect(count > 50)
    #expect(failures.isEmpty, "\(failures.first.map { "\($0)" } ?? "")")
  }

  @Test(arguments: ["chunks=neuralEngine", "neuralEngine", "vision=gpu:emulated", "gpu:emulated"])
  func halfPlacementsHoldTheirGates(_ placement: String) throws {
    let (count, failures) = try Self.failures(placement)
    #expect(count == 520)
    #expect(failures.isEmpty, "\(failures.first.map { "\($0)" } ?? "")")
  }

  @Test(
    .enabled(if: (try? Registry(threads: 1).unit(.gpu)) != nil, "did not run: no Vulkan device"),
    arguments: ["vision=gpu", "audio=gpu", "gpu", "mission"]
  )
  func vulkanPlacementsHoldTheirGates(_ placement: String) throws {
    let (count, failures) = try Self.failures(placement)
    #expect(count == 520)
    #expect(failures.isEmpty, "\(failures.first.map { "\($0)" } ?? "")")
  }

  @Test func aDamagedGoldenIsRefused() throws {
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(atPath: GoldenFolder.tiny, toPath: copy.path)
    defer { try? FileManager.default.removeItem(at: copy) }
    let file = copy.appendingPathComponent("tables.json")
    var data = try Data(contentsOf: file)
    data.append(0x20)
    try data.write(to: file)
    let verification = try Verification(
      model: ModelFolder(path: GoldenFolder.model),
      goldens: copy.path,
      placement: Placement(),
      registry: Registry(threads: 1)
    )
    #expect(throws: (any Error).self) { try verification.run(stages: ["tables"]) }
  }

  @Test func aWrongNumberDoesNotHold() {
    let golden: [Float] = [1, 2, 3, 4]
    let tolerance = Tolerance.decoder
    #expect(Tolerance.decoder.absolute == 1e-2)
    #expect(tolerance.check("s", "n", golden, golden, width: 4).holds)
    #expect(!tolerance.check("s", "n", [1, 2, 3, 4.02], golden, width: 4).holds)
    #expect(!tolerance.check("s", "n", [1, 2, 3, .nan], golden, width: 4).holds)
    #expect(!tolerance.check("s", "n", [1, 2, 3], golden, width: 4).holds)
  }

  @Test func sha256MatchesPublishedVectors() {
    #expect(
      SHA256.hex([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    #expect(
      SHA256.hex(Array("abc".utf8))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    #expect(
      SHA256.hex([UInt8](repeating: 0x61, count: 1000))
        == "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
    )
  }
}
