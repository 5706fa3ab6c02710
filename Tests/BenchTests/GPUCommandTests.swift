import Foundation
import TestSupport
import Testing

/// The command with and without a Vulkan device.
@Suite struct GPUCommandTests {
  /// No driver can be found.
  static let nowhere = [
    "VK_ICD_FILENAMES": "/nonexistent.json", "VK_DRIVER_FILES": "/nonexistent.json",
  ]

  static let runs: [[String]] = [
    ["generate", "--model", GoldenFolder.model, "--placement", "gpu", "hi"],
    ["generate", "--model", GoldenFolder.model, "--placement", "vision=gpu", "hi"],
    ["generate", "--model", GoldenFolder.model, "--placement", "mission", "hi"],
    [
      "verify", "--model", GoldenFolder.model, "--goldens", GoldenFolder.tiny, "--placement",
      "audio=gpu",
    ],
  ]

  @Test(arguments: runs)
  func withoutADeviceItSaysHowToGetOne(_ arguments: [String]) throws {
    let outcome = try CommandLineTests.run(arguments, environment: Self.nowhere)
    #expect(outcome.code == 69)
    #expect(outcome.errors.split(separator: "\n").count == 1)
    #expect(outcome.errors.hasPrefix("troika: gpu: not available"))
    #expect(outcome.errors.contains("apt install"))
  }

  @Test func withoutADeviceEverythingElseWorks() throws {
    let answer = try CommandLineTests.run(
      ["generate", "--model", GoldenFolder.model, "--max-tokens", "2", "hi"],
      environment: Self.nowhere
    )
    #expect(answer.code == 0)
    let devices = try CommandLineTests.run(["devices"], environment: Self.nowhere)
    #expect(devices.code == 0)
    #expect(devices.output.contains("gpu           not available: no Vulkan"))
    let plan = try CommandLineTests.run(
      ["plan", "--synthetic", "tiny", "--placement", "mission"],
      environment: Self.nowhere
    )
    #expect(plan.code == 0, "\(plan.errors)")
  }

  @Test func aDeviceThatIsNotThereIsNamed() throws {
    let devices = try CommandLineTests.run(["devices", "--json"])
    let object = try JSONSerialization.jsonObject(with: Data(devices.output.utf8))
    let document = try #require(object as? [String: Any])
    let found = try #require(document["vulkan"] as? [[String: Any]])
    let outcome = try CommandLineTests.run([
      "generate", "--model", GoldenFolder.model, "--placement", "gpu", "--gpu", "none such", "hi",
    ])
    #expect(outcome.code == 69)
    #expect(found.isEmpty || outcome.errors.contains("got 'none such'"))
  }
}
