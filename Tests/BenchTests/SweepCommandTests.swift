import Foundation
import TestSupport
import Testing

/// `troika place run` and `place merge` as a user meets them.
@Suite struct SweepCommandTests {
  private static let sources = GoldenFolder.root.appendingPathComponent("Examples/experiments")

  /// A grid of 24 rows that takes no time.
  private static var small: [String: Any] {
    [
      "experiment": 1, "name": "small", "seed": 5, "models": [["synthetic": "tiny"]],
      "contexts": [256, 512], "profiles": ["iphone-17-pro"],
      "requests": [
        ["name": "text", "promptTokens": 40, "maxTokens": 4],
        ["name": "sound", "promptTokens": 8, "audioSeconds": 1, "maxTokens": 4],
      ],
      "placements": [
        "mission", "cpu",
        ["singleMoves": "cpu", "units": ["neuralEngine"], "parts": ["audio", "chunks"]],
        ["random": 2, "units": ["cpu", "gpu"], "parts": ["chunk1", "head"]],
      ],
    ]
  }

  /// A folder that is gone behind the test.
  private func inFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private func experiment(
    _ folder: URL,
    _ changes: [String: Any] = [:],
    without key: String? = nil,
    name: String = "small.json"
  ) throws -> String {
    var document = Self.small.merging(changes) { $1 }
    if let key { document[key] = nil }
    let url = folder.appendingPathComponent(name)
    try JSONSerialization.data(withJSONObject: document).write(to: url)
    return url.path
  }

  private func run(_ words: [String], code: Int32 = 0) throws -> CommandLineTests.Outcome {
    let outcome = try CommandLineTests.run(["place"] + words)
    #expect(outcome.code == code, "\(words): \(outcome.code) \(outcome.errors)")
    return outcome
  }

  private func lines(_ path: String) throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func everyCombinationIsARowOnce() throws {
    try inFolder { folder in
      let out = folder.appendingPathComponent("a.jsonl").path
      let path = try experiment(folder)
      let outcome = try run(["run", path, "--out", out])
      #expect(outcome.errors.isEmpty)
      #expect(outcome.output == "\(out): 24 rows, 24 new, 0 failed\n")
      let rows = try lines(out).map {
        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
      }
      #expect(rows.count == 25 && rows[0]["kind"] as? String == "experiment")
      #expect(rows[0]["schema"] as? Int == 1 && rows[0]["rows"] as? Int == 24)
      let cells = rows.dropFirst().compactMap { $0["cell"] as? Int }
      #expect(cells.sorted() == Array(0..<24) && cells != cells.sorted())
      #expect(Set(rows.compactMap { $0["fingerprint"] as? String }).count == 1)
      #expect(rows.dropFirst().allSatisfy { $0["result"] is [String: Any] })
      #expect(
        Set(rows.compactMap { $0["placement"] as? String }).contains("cpu + audio=neuralEngine")
      )
      // The same again is nothing new.
      #expect(try run(["run", path, "--out", out]).output.contains("24 rows, 0 new"))
    }
  }

  @Test func aTornRunGoesOnWhereItStopped() throws {
    try inFolder { folder in
      let (whole, torn) = ("\(folder.path)/whole.jsonl", "\(folder.path)/torn.jsonl")
      let path = try experiment(folder)
      _ = try run(["run", path, "--out", whole])
      let data = try Data(contentsOf: URL(fileURLWithPath: whole))
      for count in [0, 5, 40, data.count / 2, data.count - 1, data.count] {
        try data.prefix(count).write(to: URL(fileURLWithPath: torn))
        _ = try run(["run", path, "--out", torn])
        #expect(try Data(contentsOf: URL(fileURLWithPath: torn)) == data, "torn at \(count)")
      }
    }
  }

  @Test func aKilledRunLosesAndRepeatsNothing() throws {
    try inFolder { folder in
      let (whole, killed) = ("\(folder.path)/whole.jsonl", "\(folder.path)/killed.jsonl")
      let path = try experiment(folder)
      _ = try run(["run", path, "--out", whole])
      let process = Process()
      process.executableURL = CommandLineTests.executable
      process.arguments = ["place", "run", path, "--out", killed]
      process.standardOutput = Pipe()
      try process.run()
      while process.isRunning, (try? lines(killed).count) ?? 0 < 4 { usleep(500) }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      _ = try run(["run", path, "--out", killed])
      #expect(try lines(killed) == lines(whole))
    }
  }

  @Test func shardsTogetherAreTheWhole() throws {
    try inFolder { folder in
      let path = try experiment(folder)
      let file = { (name: String) in folder.appendingPathComponent(name).path }
      _ = try run(["run", path, "--out", file("whole.jsonl")])
      let parts = (1...5).map { file("part\($0).jsonl") }
      for (index, part) in parts.enumerated() {
        _ = try run(["run", path, "--out", part, "--shard", "\(index + 1)/5"])
      }
      let counts = try parts.map { try lines($0).count - 1 }
      #expect(counts == [5, 5, 5, 5, 4])
      _ = try run(["merge", file("whole.jsonl"), "--out", file("a.jsonl")])
      let merged = try run(["merge"] + parts.reversed() + ["--out", file("b.jsonl")])
      #expect(merged.output.contains("24 of 24 rows, 0 failed"))
      #expect(try lines(file("a.jsonl")) == lines(file("b.jsonl")))
      let half = try run(["merge"] + parts.dropLast() + ["--out", file("c.jsonl")], code: 1)
      #expect(half.errors.hasSuffix("expected 24 rows, came 20\n"))
      #expect(
        try run(["run", path, "--dry-run", "--shard", "2/5"]).output.split(separator: "\n").count
          == 5
      )
    }
  }

  @Test func otherExperimentsAndVersionsAreRefused() throws {
    try inFolder { folder in
      let (mine, theirs) = ("\(folder.path)/mine.jsonl", "\(folder.path)/theirs.jsonl")
      let other = try experiment(folder, ["seed": 6], name: "other.json")
      let path = try experiment(folder)
      _ = try run(["run", path, "--out", mine])
      _ = try run(["run", other, "--out", theirs])
      let before = try Data(contentsOf: URL(fileURLWithPath: theirs))
      for words in [
        ["run", path, "--out", theirs], ["merge", mine, theirs, "--out", "\(folder.path)/x.jsonl"],
        ["merge", path, "--out", "\(folder.path)/x.jsonl"], ["run", path, "--out", path],
      ] {
        let outcome = try run(words, code: 65)
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: theirs)) == before)
      let text = try String(contentsOfFile: mine, encoding: .utf8)
      try Data(text.replacingOccurrences(of: #""schema":1"#, with: #""schema":9"#).utf8)
        .write(to: URL(fileURLWithPath: theirs))
      #expect(try run(["run", path, "--out", theirs], code: 65).errors.contains("schema"))
      // A broken line in the middle is no torn end.
      try Data(text.replacingOccurrences(of: #""cell":3,"#, with: #""cell":,"#).utf8)
        .write(to: URL(fileURLWithPath: theirs))
      _ = try run(["run", path, "--out", theirs], code: 65)
    }
  }

  @Test func aCellThatFailsIsARowWithItsReason() throws {
    try inFolder { folder in
      // A device that is not there is found out when the cell runs.
      let path = try experiment(
        folder,
        [
          "models": [["folder": GoldenFolder.model]], "measure": true, "runs": 1, "repetitions": 2,
          "requests": [["prompt": "Hello", "maxTokens": 2]], "contexts": [256],
          "placements": ["cpu", "gpu"], "gpu": "no such device", "profiles": ["iphone-17-pro"],
        ]
      )
      let out = folder.appendingPathComponent("a.jsonl").path
      let outcome = try run(["run", path, "--out", out], code: 1)
      #expect(outcome.output.contains("6 rows, 6 new, 2 failed"), "\(outcome.output)")
      let text = try lines(out)
      #expect(text.count == 7 && text.count { $0.contains(#""error":"#) } == 2)
      #expect(text.contains { $0.contains("firstTokenSamplesNs") })
      #expect(try run(["run", path, "--out", out], code: 1).output.contains("0 new, 2 failed"))
      #expect(try run(["run", path, "--out", out, "--retry"], code: 1).output.contains("2 new"))
      #expect(try run(["merge", out, "--out", out]).output.contains("6 of 6 rows, 2 failed"))
    }
  }

  @Test func badExperimentsGetOneLineAndTheirCode() throws {
    try inFolder { folder in
      let out = folder.appendingPathComponent("x.jsonl").path
      let cases: [(String, [String: Any])] = [
        ("'npu'", ["placements": ["npu"]]), ("'sped'", ["sped": 1]),
        ("'chunk9'", ["placements": ["chunk9=cpu"]]), ("none", ["placements": [Any]()]),
        ("field 'experiment'", ["experiment": 2]), ("reference", ["placements": ["reference"]]),
        ("context", ["contexts": [16]]), ("context", ["contexts": [1 << 22]]),
        ("prefill", ["prefill": [[0]]]), ("prefill", ["prefill": [[4096]]]),
        ("rising", ["chunks": [[1, 2, 99]]]),
        ("nobody", ["profiles": ["nobody"]]), ("neither", ["profiles": [String]()]),
        ("files", ["measure": true]), ("synthetic", ["requests": [["prompt": "Hello"]]]),
        ("folder", ["models": [["folder": "nowhere"]]]),
        ("int5", ["weights": ["int5"]]),
        ("once", ["placements": [["random": 2, "units": [String]()]]]),
        ("nothing", ["requests": [["promptTokens": 0]]]),
        ("again", ["requests": [["name": "a"], ["name": "a"]]]),
      ]
      for (word, changes) in cases {
        let path = try experiment(folder, changes)
        let outcome = try run(["run", path, "--out", out], code: 65)
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(changes): \(outcome.errors)")
        #expect(outcome.errors.contains(word) || word == "folder", "\(changes): \(outcome.errors)")
        #expect(outcome.output.isEmpty && !FileManager.default.fileExists(atPath: out))
      }
      let path = try experiment(folder)
      for words in [
        ["run", path, "--out", "/dev/full"], ["run", path, "--out", "/nonexistent/x.jsonl"],
        ["run", path, "--out", folder.path], ["run", folder.path + "/none.json"],
        ["merge", folder.path + "/none.jsonl", "--out", out],
      ] {
        let outcome = try run(words, code: 65)
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(words): \(outcome.errors)")
      }
      for words in [
        ["run"], ["run", path, "--shard", "3/2"], ["run", path, "--shard", "x"], ["merge"],
        ["run", path, path], ["merge", path], ["run", path, "--jobs", "2"],
      ] {
        _ = try run(words, code: 64)
      }
    }
  }

  @Test func twoRunsDoNotShareAFile() throws {
    try inFolder { folder in
      let (path, out) = (try experiment(folder), folder.appendingPathComponent("x.jsonl").path)
      let file = open(out, O_RDWR | O_CREAT, 0o644)
      defer { close(file) }
      #expect(flock(file, LOCK_EX) == 0)
      #expect(try run(["run", path, "--out", out], code: 65).errors.contains("another run"))
    }
  }

  @Test func theExamplesAreExperiments() throws {
    for name in ["moves", "random"] {
      let path = Self.sources.appendingPathComponent(name + ".json").path
      let outcome = try run(["run", path, "--dry-run"])
      #expect(outcome.output.split(separator: "\n").count > 20)
    }
  }
}
