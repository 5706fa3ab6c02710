import Foundation
import TestSupport
import Testing

/// `troika plan`, placement files and engine switches as a user meets them.
@Suite struct PlanCommandTests {
  private static let model = ["--model", GoldenFolder.model]

  private func file(_ text: String, suffix: String = ".json") throws -> String {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("placement-\(UUID().uuidString)\(suffix)")
    try Data(text.utf8).write(to: url)
    return url.path
  }

  private func document(_ arguments: [String]) throws -> [String: Any] {
    let outcome = try CommandLineTests.run(["plan"] + arguments + ["--json"])
    #expect(outcome.code == 0, "\(outcome.errors)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(object as? [String: Any])
  }

  @Test(arguments: ["cpu", "mission", "neuralEngine", "chunks=neuralEngine,text.layers.4.*=cpu"])
  func theReportFitsAScreen(_ placement: String) throws {
    for model in [Self.model, ["--synthetic", "e2b"]] {
      let outcome = try CommandLineTests.run(["plan", "--placement", placement] + model)
      #expect(outcome.code == 0, "\(outcome.errors)")
      let widest = outcome.output.split(separator: "\n").max { $0.count < $1.count } ?? ""
      #expect(widest.count <= 80, "\(widest)")
      for part in ["chunk1.decode", "vision", "embed", "memory", "sharedLayers"] {
        #expect(outcome.output.contains(part))
      }
    }
  }

  @Test func sharesAreAGate() throws {
    let plan = ["plan", "--placement", "chunks=neuralEngine"] + Self.model
    let held = try CommandLineTests.run(plan + ["--require", "neuralEngine=0.985"])
    #expect(held.code == 0)
    let missed = try CommandLineTests.run(
      plan + ["--require", "neuralEngine=0.9999", "--require", "cpu=0.5"]
    )
    #expect(missed.code == 1)
    #expect(missed.errors.contains("neuralEngine: expected a share of 0.9999"))
    let absent = try CommandLineTests.run(plan + ["--require", "gpu:emulated=0.5"])
    #expect(absent.code == 1)
    let standIn = ["plan", "--placement", "vision=gpu", "--require", "gpu=1"] + Self.model
    #expect(try CommandLineTests.run(standIn).code == 0)
  }

  @Test func theJSONSaysWhatTheTextSays() throws {
    let plan = try document(["--placement", "chunks=neuralEngine"] + Self.model)
    let programs = try #require(plan["programs"] as? [[String: Any]])
    let chunk = try #require(programs.first { $0["name"] as? String == "chunk1.decode" })
    #expect(chunk["unit"] as? String == "neuralEngine")
    #expect((chunk["segments"] as? [Any])?.isEmpty == false)
    #expect(
      (chunk["crossings"] as? [[String: Any]])?.contains { $0["from"] as? String == "cpu" } == true
    )
    let fallbacks = try #require(plan["fallbacks"] as? [[String: Any]])
    #expect(fallbacks.contains { ($0["reason"] as? String)?.contains("gather") == true })
    let memory = try #require(plan["memory"] as? [String: Int])
    #expect((memory["peakBytes"] ?? 0) > (memory["weightBytes"] ?? .max))
    #expect(plan["sharedLayers"] as? String == "last")
    #expect(plan["health"] == nil)
  }

  @Test func theLineOverridesTheFile() throws {
    let path = try file(
      "{\"chunks\": \"neuralEngine\", \"cuts\": [5, 10], \"prefill\": [32, 128],"
        + " \"sharedLayers\": \"all\", \"engine\": {\"accumulate\": \"f16\", \"layers\": 9}}"
    )
    let file = try document(["--placement", path] + Self.model)
    #expect(file["chunks"] as? [Int] == [5, 10])
    #expect(file["tokenCounts"] as? [Int] == [1, 32, 128])
    #expect(file["sharedLayers"] as? String == "all")
    let line = try document(
      [
        "--placement", path, "--chunks", "3,10", "--prefill", "16", "--shared-layers", "last",
        "--engine", "accumulate=f32", "--context", "100",
      ] + Self.model
    )
    #expect(line["chunks"] as? [Int] == [3, 10])
    #expect(line["tokenCounts"] as? [Int] == [1, 16])
    #expect(line["sharedLayers"] as? String == "last")
    #expect(line["context"] as? Int == 100)
    let engine = try #require(line["engine"] as? [String: Any])
    #expect(engine["accumulate"] as? String == "f32" && engine["layers"] as? Int == 9)
  }

  @Test func healthNamesWhatOverflows() throws {
    let request = ["--placement", "chunks=neuralEngine", "--health", "--prompt", "hello"]
    let well = try document(request + Self.model)
    let units = try #require(well["health"] as? [[String: Any]])
    #expect(units.first?["unit"] as? String == "neuralEngine")
    #expect((units.first?["operations"] as? [Any])?.isEmpty == false)
    let table = try CommandLineTests.run(["plan"] + request + Self.model)
    #expect(table.output.contains("operation ") && table.output.contains("text.layers."))
    let widest = table.output.split(separator: "\n").map(\.count).max() ?? 0
    #expect(widest <= 80)
  }

  @Test func aSumThatOverflowsIsNamedWithItsLayer() throws {
    let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")
    let request = [
      "--model", demo.appendingPathComponent("model").path, "--placement", "chunks=neuralEngine",
      "--engine", "accumulate=f16", "--image", demo.appendingPathComponent("picture.png").path,
      "--max-tokens", "2",
    ]
    let answer = try CommandLineTests.run(["generate"] + request + ["Describe this image"])
    #expect(answer.code == 0)
    #expect(answer.errors.contains("neuralEngine: text.layers."))
    #expect(answer.errors.contains("overflowed fp16"))
    let plan = try document(request + ["--health", "--prompt", "Describe this image"])
    let unit = try #require((plan["health"] as? [[String: Any]])?.first)
    #expect((unit["firstOverflow"] as? String)?.hasPrefix("text.layers.") == true)
    let chat = try CommandLineTests.run(["chat"] + request, input: "What?\n")
    #expect(chat.errors.contains("overflowed fp16"))
  }

  @Test func placementFilesWorkEverywhere() throws {
    let path = try file("{\"base\": \"cpu\", \"text.layers.2.*\": \"reference\", \"prefill\": 8}")
    let plain = ["--max-tokens", "3", "Hello"]
    let one = try CommandLineTests.run(["generate", "--placement", path] + Self.model + plain)
    let other = try CommandLineTests.run(["generate"] + Self.model + plain)
    #expect(one.code == 0 && one.output == other.output)
    let goldens = ["--goldens", GoldenFolder.tiny, "--stage", "text"]
    let half = try file("{\"chunks\": \"neuralEngine\"}")
    let verify = try CommandLineTests.run(["verify", "--placement", half] + Self.model + goldens)
    #expect(verify.code == 0)
    let lines = verify.output.split(separator: "\n")
    #expect(lines.last?.hasSuffix("checks hold") == true)
    #expect(lines.dropLast().last?.hasPrefix("neuralEngine: 0 overflows, 0 NaN") == true)
  }

  @Test(arguments: [".JSON", ".txt", "", "=x"])
  func aPlacementFileMayHaveAnyName(_ suffix: String) throws {
    let path = try file("{\"base\": \"reference\"}", suffix: suffix)
    #expect(
      try document(["--placement", path] + Self.model)["placement"] as? String == "reference"
    )
    let absent = ["plan", "--placement", path + "-absent"] + Self.model
    #expect(try CommandLineTests.run(absent).code == 65)
  }

  @Test func inspectShowsAPlacement() throws {
    let folder = GoldenFolder.root.appendingPathComponent("Examples/placements")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let path = folder.appendingPathComponent(name).path
      let outcome = try CommandLineTests.run(["inspect", path, "--json"])
      #expect(outcome.code == 0)
      let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
      let document = try #require(object as? [String: Any])
      #expect(document["kind"] as? String == "placement")
      #expect((document["rules"] as? [Any])?.isEmpty == false)
    }
  }

  /// A placement, and programs that the engine refuses of it.
  static let refused: [(String, [String])] = [
    ("neuralEngine", ["vision", "audio", "chunk1", "chunk4"]),
    ("vision=neuralEngine", ["vision"]), ("audio=neuralEngine", ["audio"]),
    ("head=neuralEngine", ["head"]), ("text.layers.4.*=neuralEngine", ["chunk"]),
    ("chunks=neuralEngine,head=cpu", ["chunk1", "chunk4"]),
    ("*=gpu:emulated,text.layers.4.*=neuralEngine", ["chunk"]),
  ]

  @Test(arguments: refused)
  func everyRefusedProgramRunsOnTheProcessor(_ placement: String, _ programs: [String]) throws {
    let plan = [
      "plan", "--synthetic", "tiny", "--placement", placement, "--engine", "program-bytes=1",
    ]
    let moved = try CommandLineTests.run(plan)
    #expect(moved.code == 0, "\(moved.errors)")
    for program in programs {
      #expect(moved.errors.contains("\(program)"), "\(moved.errors)")
    }
    #expect(moved.errors.contains("programs of at most 1 bytes"))
    #expect(moved.output.contains("rule: programs of at most 1 bytes"))
    let kept = try CommandLineTests.run(plan + ["--no-fallback"])
    #expect(kept.code == 65)
    #expect(kept.errors.contains("neuralEngine") && kept.errors.contains("at most 1 bytes"))
  }

  @Test func aRefusedModelStillAnswers() throws {
    let line = ["generate"] + Self.model + ["--max-tokens", "3"]
    let engine = ["--placement", "neuralEngine", "--engine", "program-bytes=1"]
    let answer = try CommandLineTests.run(line + engine + ["Hello"])
    #expect(answer.code == 0, "\(answer.errors)")
    #expect(try CommandLineTests.run(line + ["Hello"]).output == answer.output)
  }

  static let mistakes: [([String], Int32)] = [
    ([], 64), (["--synthetic", "e3b"], 64), (["--synthetic", "tiny", "--model", "X"], 64),
    (["--synthetic", "tiny", "--health"], 64), (["--synthetic", "tiny", "--weights", "f8"], 64),
    (model + ["--weights", "int4"], 64), (model + ["--require", "neuralEngine"], 64),
    (model + ["--require", "tpu=1"], 64), (model + ["--require", "cpu=1.5"], 64),
    (model + ["word"], 64), (model + ["--engine", "accumulate=f64"], 64),
    (model + ["--chunks", "3,9"], 64), (model + ["--prefill", "64,12"], 64),
    (model + ["--context", "1"], 64), (model + ["--shared-layers", "some"], 64),
    (model + ["--placement", "ears=cpu"], 65), (model + ["--placement", "/nonexistent.json"], 65),
    (
      model + [
        "--placement", "chunks=neuralEngine", "--engine", "layers=1", "--no-fallback",
      ], 65
    ),
  ]

  @Test(arguments: mistakes)
  func mistakesGetOneLineAndTheirCode(_ arguments: [String], _ code: Int32) throws {
    let outcome = try CommandLineTests.run(["plan"] + arguments)
    #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
    #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
    #expect(outcome.errors.hasPrefix("troika: "))
  }

  @Test(arguments: [
    ("{\"vision\": \"tpu\"}", "vision"), ("{\"ears\": \"cpu\"}", "ears"),
    ("{\"cuts\": [3, 9]}", "cuts"), ("{\"fallback\": 1}", "fallback"),
    ("{\"chunk9\": \"cpu\"}", "chunk9"), ("{\"decode.chunk9\": \"cpu\"}", "decode.chunk9"),
    ("{\"text.layers.99.*\": \"cpu\"}", "text.layers.99.*"),
  ])
  func mistakesInFilesNameFileAndKey(_ text: String, _ key: String) throws {
    let path = try file(text)
    let name = URL(fileURLWithPath: path).lastPathComponent
    let rest = ["--placement", path] + Self.model
    let commands = [
      ["generate"] + rest + ["hi"], ["plan"] + rest,
      ["verify", "--goldens", GoldenFolder.tiny] + rest,
    ]
    for command in commands {
      let outcome = try CommandLineTests.run(command)
      #expect(outcome.code == 65)
      #expect(outcome.errors.hasPrefix("troika: \(name): field '\(key)': expected "))
      #expect(outcome.errors.split(separator: "\n").count == 1)
    }
  }
}
