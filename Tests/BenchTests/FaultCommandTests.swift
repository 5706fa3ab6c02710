import Foundation
import TestSupport
import Testing

/// `--inject` on the command line: what is said, and with which exit code.
@Suite struct FaultCommandTests {
  private static let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")

  private func generate(_ arguments: [String]) throws -> CommandLineTests.Outcome {
    try CommandLineTests.run(
      [
        "generate", "--model", Self.demo.appendingPathComponent("model").path, "--image",
        Self.demo.appendingPathComponent("picture.png").path, "--placement",
        "vision=gpu:emulated,chunks=neuralEngine", "--max-tokens", "12",
      ] + arguments + ["Describe this image"]
    )
  }

  @Test(arguments: [
    ("fail", 70), ("nan", 70), ("compile", 70), ("hang", 70), ("gone", 69),
  ])
  func aFaultIsAWarningOrAnExitCode(_ kind: String, _ code: Int) throws {
    let inject = ["--inject", "neuralEngine:\(kind)@chunk2.decode", "--inject", "limit=2s"]
    let lenient = try generate(inject)
    #expect(lenient.code == 0)
    #expect(lenient.output == "a green circle left of a blue square\n")
    #expect(lenient.errors.hasPrefix("troika: warning: neuralEngine: chunk2.decode failed ("))
    #expect(lenient.errors.hasSuffix("on the gpu:emulated from here on\n"))
    #expect(lenient.errors.split(separator: "\n").count == 1)
    let strict = try generate(inject + ["--no-fallback"])
    #expect(strict.code == code)
    #expect(strict.errors.hasPrefix("troika: neuralEngine: chunk2.decode failed: "))
    #expect(strict.errors.split(separator: "\n").count == 1)
  }

  @Test func whatEveryUnitFailsEndsOnTheProcessor() throws {
    let outcome = try generate([
      "--inject", "neuralEngine:fail@chunk2.decode", "--inject", "gpu:emulated:fail@chunk2.decode",
    ])
    #expect(outcome.code == 0)
    #expect(outcome.output == "a green circle left of a blue square\n")
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.first?.hasSuffix("on the gpu:emulated from here on") == true)
    #expect(lines.last?.hasSuffix("on the cpu from here on") == true)
  }

  @Test func whatCannotBeReadIsAUsageError() throws {
    let outcome = try generate(["--inject", "neuralEngine:burn"])
    #expect(outcome.code == 64)
    #expect(outcome.errors.hasPrefix("troika: inject: expected compile, fail, "))
  }

  @Test func theTraceShowsTheFailure() throws {
    let outcome = try generate(["--inject", "gpu:emulated:gone", "--json"])
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("\"program\":\"vision (failed)\""))
    #expect(outcome.output.contains("gpu:emulated: vision failed (the unit is gone)"))
  }

  @Test func aChatGoesOn() throws {
    let outcome = try CommandLineTests.run(
      [
        "chat", "--model", Self.demo.appendingPathComponent("model").path, "--placement",
        "chunks=neuralEngine", "--max-tokens", "4", "--no-fallback", "--inject",
        "neuralEngine:fail@chunk1.decode",
      ],
      input: "Hello\nHello\n"
    )
    #expect(outcome.code == 70)
    #expect(outcome.errors.split(separator: "\n").count == 1)
    #expect(!outcome.output.isEmpty)
  }
}
