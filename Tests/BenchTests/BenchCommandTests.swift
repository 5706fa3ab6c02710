import Foundation
import TestSupport
import Testing

/// `troika bench` as a user meets it; what it measures is tested with the library.
@Suite struct BenchCommandTests {
  private static let quick = [
    "bench", "--model", GoldenFolder.model, "--context", "64", "--repeat", "6", "--warm-up", "0",
  ]
  private static let small = quick + ["--units", "cpu", "--stages", "chunk1,head"]

  private func file(_ text: String) throws -> String {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("bench-\(UUID().uuidString).json")
    try Data(text.utf8).write(to: url)
    return url.path
  }

  private func run(_ arguments: [String], code: Int32 = 0) throws -> String {
    let outcome = try CommandLineTests.run(arguments)
    #expect(outcome.code == code, "\(outcome.errors)")
    if code == 0 { #expect(outcome.errors.isEmpty, "\(outcome.errors)") }
    return outcome.output
  }

  private func document(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  @Test func theTableFitsAScreenAndAPipeIsSilent() throws {
    let suite = try file(
      """
      {"name": "small", "images": [[1024, 768]], "frames": [[64, 48]], "audioSeconds": [2],
       "prefill": [8], "depths": [16]}
      """
    )
    let text = try run(Self.quick + ["--units", "cpu,neuralEngine", "--suite", suite])
    let widest = text.split(separator: "\n").max { $0.count < $1.count } ?? ""
    #expect(widest.count <= 80, "\(widest)")
    for part in ["machine ", "limit ", "steady state", "program, ms", "time ", "unexplained"] {
      #expect(text.contains(part), "\(part)")
    }
    for stage in ["decode.sound2s", "preprocess.", "vision.", "audio.", "sample.top40", "embed.1"] {
      #expect(text.contains(stage), "\(stage)")
    }
  }

  @Test func everyFormatNamesTheMachineAndTheStages() throws {
    let stages = ["chunk1.prefill64", "chunk1.decode@16", "head"]
    for format in ["table", "md", "csv", "jsonl", "json"] {
      let text = try run(Self.small + ["--output", format])
      for word in stages + ["governor", "Swift"] {
        #expect(text.contains(word), "\(format) \(word)")
      }
      if format == "jsonl" {
        let kinds = try text.split(separator: "\n").map { try document(String($0))["kind"] }
        #expect(kinds.compactMap { $0 as? String }.filter { $0 == "stage" }.count == 3)
        #expect(kinds.first as? String == "run")
      }
      if format == "csv" {
        let lines = text.split(separator: "\n")
        #expect(lines.count == 5 && lines[0].hasPrefix("# "))
        let counts = lines[1...].map {
          $0.split(separator: ",", omittingEmptySubsequences: false).count
        }
        #expect(Set(counts) == [24])
      }
    }
  }

  @Test func theDocumentHasItsSchema() throws {
    let saved = FileManager.default.temporaryDirectory
      .appendingPathComponent("saved-\(UUID().uuidString).json")
    let printed = try document(try run(Self.small + ["--json", "--save", saved.path]))
    #expect(printed["schema"] as? Int == 1)
    let machine = try #require(printed["machine"] as? [String: Any])
    #expect((machine["processors"] as? Int ?? 0) > 0 && machine["compiler"] is String)
    let stages = try #require(printed["stages"] as? [[String: Any]])
    #expect(stages.allSatisfy { ($0["samplesNs"] as? [Int])?.count == 6 })
    let kept = try document(try String(contentsOf: saved, encoding: .utf8))
    #expect((kept["stages"] as? [[String: Any]])?.count == stages.count)
  }

  @Test func processesShareTheSamples() throws {
    let quick = Self.quick + ["--units", "cpu", "--stages", "head", "--json"]
    for (processes, counts) in [("1", [6]), ("4", [1, 2, 1, 2]), ("50", [1, 1, 1, 1, 1, 1])] {
      let report = try document(try run(quick + ["--processes", processes]))
      let stages = try #require(report["stages"] as? [[String: Any]])
      #expect(stages.map { $0["processes"] as? [Int] } == [counts], "\(processes)")
      #expect((stages[0]["samplesNs"] as? [Int])?.count == 6)
      let time = try #require(report["time"] as? [String: Any])
      let shares = try #require(time["shares"] as? [String: Int])
      #expect((shares["processes"] != nil) == (counts.count > 1))
      let wall = try #require(time["wallNs"] as? Int)
      let residual = try #require(time["residualNs"] as? Int)
      #expect(shares.values.reduce(residual, +) == wall)
    }
  }

  /// An earlier run whose every sample is this many times what it was.
  private func baseline(_ text: String, _ factor: Double) throws -> String {
    var earlier = try document(text)
    var stages = try #require(earlier["stages"] as? [[String: Any]])
    for index in stages.indices {
      let samples = try #require(stages[index]["samplesNs"] as? [Int])
      stages[index]["disturbed"] = [Int]()
      stages[index]["samplesNs"] = samples.map { max(Int(Double($0) * factor), 1) }
    }
    earlier["stages"] = stages
    return try file(
      String(decoding: JSONSerialization.data(withJSONObject: earlier), as: UTF8.self)
    )
  }

  @Test func aStageThatIsSlowerThanTheBaselineIsAnExitCode() throws {
    let text = try run(Self.quick + ["--units", "cpu", "--stages", "head", "--json"])
    // The same run against itself, other tests beside this one: only its samples differ.
    let head = [
      "bench", "--load", try file(text), "--threshold", "10000", "--count-disturbed", "--baseline",
    ]
    let outcome = try CommandLineTests.run(head + [try baseline(text, 0)])
    #expect(outcome.code == 1)
    #expect(outcome.errors.hasPrefix("troika: head on cpu: expected at most 10000 % slower, came "))
    #expect(outcome.errors.split(separator: "\n").count == 1)
    #expect(outcome.output.contains("since the baseline") && outcome.output.contains("SLOWER"))
    let held = try run(head + [try baseline(text, 1e6), "--json"])
    let changes = try #require(try document(held)["changes"] as? [[String: Any]])
    #expect(changes.map { $0["verdict"] as? String } == ["faster"])
    let other = try CommandLineTests.run(
      Self.quick + ["--units", "cpu", "--stages", "head", "--count-disturbed", "--json"]
        + ["--baseline", try baseline(text, 1)]
    )
    let verdicts = try #require(try document(other.output)["changes"] as? [[String: Any]])
    #expect(verdicts.count == 1 && [0, 1].contains(other.code))
  }

  @Test func mistakesGetTheirCodeAndOneLine() throws {
    let other = try file("{\"schema\": 2}")
    let broken = try file("{")
    let suite = try file("{\"name\": 1}")
    let mistakes: [([String], Int32)] = [
      (["bench"], 64), (Self.small + ["--repeat", "0"], 64),
      (Self.small + ["--processes", "0"], 64), (Self.small + ["--fewest", "0"], 64),
      (Self.small + ["--save", ""], 65), (Self.small + ["--save", "/tmp"], 65),
      (Self.small + ["--output", "xml"], 64),
      (Self.small + ["--json", "--output", "csv"], 64), (Self.small + ["word"], 64),
      (Self.quick + ["--stages", "dance"], 64), (Self.quick + ["--units", "cpu,cpu"], 64),
      (Self.quick + ["--units", "tpu"], 65), (Self.small + ["--threshold", "-1"], 64),
      (Self.small + ["--baseline", other], 65), (Self.small + ["--baseline", broken], 65),
      (Self.small + ["--baseline", "/nonexistent"], 65), (Self.small + ["--suite", suite], 65),
      (Self.small + ["--save", "/nonexistent/x"], 65), (["bench", "--model", "/nonexistent"], 65),
      (Self.quick + ["--image", "/nonexistent.png"], 65), (Self.small + ["--context", "1"], 64),
      (Self.quick + ["--units", "gpu", "--gpu", "no such device"], 69),
      (Self.small + ["--kernels", "sse9"], 64),
    ]
    for (arguments, code) in mistakes {
      let outcome = try CommandLineTests.run(arguments)
      #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
      #expect(outcome.output.isEmpty, "\(arguments)")
      #expect(outcome.errors.hasPrefix("troika: "), "\(arguments)")
      #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
    }
    let refused = try CommandLineTests.run(Self.small + ["--baseline", other])
    #expect(refused.errors.contains("field 'schema': expected 1, the only one this version reads"))
  }

  @Test func timesThatAddUpToMoreThanNumbersHoldAreShown() throws {
    let text = try run(Self.quick + ["--units", "cpu", "--stages", "head", "--json"])
    var absurd = try document(text)
    absurd["time"] = [
      "wallNs": Int.min, "shares": ["open": Int.max, "prepare": Int.max], "residualNs": 0,
    ]
    let saved = try file(
      String(decoding: JSONSerialization.data(withJSONObject: absurd), as: UTF8.self)
    )
    #expect(try run(["bench", "--load", saved]).contains("head"))
  }

  @Test func aSavedRunIsShownAndComparedWithoutTiming() throws {
    let text = try run(Self.quick + ["--units", "cpu", "--stages", "head", "--json"])
    let saved = try file(text)
    let shown = try document(try run(["bench", "--load", saved, "--json"]))
    let before = try document(text)
    #expect(shown as NSDictionary == before as NSDictionary)
    #expect(try run(["bench", "--load", saved]).contains("head"))
    for extra in [["--model", "x"], ["--units", "cpu"], ["--repeat", "3"], ["--no-fallback"]] {
      let refused = try CommandLineTests.run(["bench", "--load", saved] + extra)
      #expect(refused.code == 64 && refused.errors.contains(extra[0]), "\(refused.errors)")
    }
    _ = try run(["bench", "--load", "/nonexistent"], code: 65)
  }

  @Test func filesOfOnesOwnAreReadToo() throws {
    let picture = GoldenFolder.root.appendingPathComponent("Examples/demo/picture.png").path
    let text = try run(
      Self.quick + ["--stages", "decode.image:,preprocess.image:", "--image", picture]
    )
    #expect(text.contains("decode.image:picture.png"))
    #expect(text.contains("preprocess.image:picture.png"))
  }
}
