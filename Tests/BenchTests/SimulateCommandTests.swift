import Foundation
import TestSupport
import Testing

/// `troika simulate`, `place`, `calibrate` and `plan --profile` as a user meets them.
@Suite struct SimulateCommandTests {
  private static let phone = [
    "--synthetic", "e2b", "--context", "2048", "--placement", "mission", "--profile",
    "iphone-17-pro",
  ]

  private func document(_ words: [String]) throws -> [String: Any] {
    let outcome = try CommandLineTests.run(words + ["--json"])
    #expect(outcome.code == 0, "\(outcome.errors)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(object as? [String: Any])
  }

  private func file(_ text: String) throws -> String {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("profile-\(UUID().uuidString).json")
    try Data(text.utf8).write(to: url)
    return url.path
  }

  @Test func theDocumentHoldsWhatTheContractNames() throws {
    let document = try document(["simulate"] + Self.phone + ["--max-tokens", "8"])
    let first = try #require(document["timeToFirstToken"] as? [String: Double])
    let rate = try #require(document["decodeTokensPerSecond"] as? [String: Double])
    for estimate in [first, rate] {
      let (value, low, high) = (estimate["value"], estimate["low"], estimate["high"])
      #expect((low ?? 1) < (value ?? 0) && (value ?? 1) < (high ?? 0))
    }
    #expect(abs((first["value"] ?? 0) - 0.5601) < 0.03)
    #expect(abs((rate["value"] ?? 0) - 31.4) < 1.6)
    let launches = try #require(document["launches"] as? [[String: Any]])
    let chunk = try #require(launches.first { $0["program"] as? String == "chunk1.decode" })
    #expect(chunk["unit"] as? String == "neuralEngine")
    #expect(chunk["count"] as? Int == 7)
    #expect((chunk["low"] as? Int ?? 1) < (chunk["nanoseconds"] as? Int ?? 0))
    #expect(document["energyJoules"] is [String: Any])
    #expect((document["peakBytes"] as? Int ?? 0) > 1 << 30)
  }

  @Test func shapesCutsAndPaddingFollowTheOptions() throws {
    let ten = try document(
      ["simulate"] + Self.phone + ["--prompt-tokens", "10", "--prefill", "512"]
    )
    let launches = try #require(ten["launches"] as? [[String: Any]])
    let times = (1...4).map { chunk in
      launches.first { $0["program"] as? String == "chunk\(chunk).prefill512" }?["nanoseconds"]
        as? Double ?? 0
    }
    for (time, published) in zip(times, [15.9, 8.1, 19.1, 19.7]) {
      #expect(abs(time / 1e6 / published - 1) < 0.05, "\(times)")
    }
    let merged = try document(["simulate"] + Self.phone + ["--chunks", "8,25,35"])
    let names = try #require(merged["launches"] as? [[String: Any]]).compactMap {
      $0["program"] as? String
    }
    #expect(names.contains("chunk3.decode") && !names.contains("chunk4.decode"))
  }

  @Test func tracesPairTheirArrows() throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("trace-\(UUID().uuidString).json").path
    let outcome = try CommandLineTests.run(
      ["simulate"] + Self.phone + ["--images", "2", "--max-tokens", "3", "--trace", path]
    )
    #expect(outcome.code == 0, "\(outcome.errors)")
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let trace = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let events = try #require(trace["traceEvents"] as? [[String: Any]])
    let phases = Set(events.compactMap { $0["ph"] as? String })
    #expect(phases == ["M", "X", "s", "f"])
    func ids(_ phase: String) -> [Int] {
      events.filter { $0["ph"] as? String == phase }.compactMap { $0["id"] as? Int }.sorted()
    }
    #expect(!ids("s").isEmpty && ids("s") == ids("f"))
    for event in events where event["ph"] as? String == "X" {
      #expect((event["dur"] as? Double ?? -1) >= 0)
      #expect((event["ts"] as? Double ?? -1) >= 0)
    }
    let lanes = events.filter { $0["name"] as? String == "thread_name" }
    #expect(Set(lanes.compactMap { $0["tid"] as? Int }).count == lanes.count)
    // The cpu, the GPU, the engine and the host.
    #expect(lanes.count == 4)
  }

  @Test func placementsAreComparedAndFound() throws {
    let request = ["--synthetic", "e2b", "--context", "2048", "--images", "1"]
    let compared = try CommandLineTests.run(
      ["place", "compare", "mission", "neuralEngine", "--simulate", "iphone-17-pro"] + request
    )
    #expect(compared.code == 0, "\(compared.errors)")
    #expect(compared.output.contains("decode not\ndistinguishable"))
    let found = try document(
      ["place", "search", "--objective", "ttft", "--simulate", "iphone-17-pro"] + request
    )
    #expect(found["optimal"] as? Bool == true)
    #expect((found["placement"] as? String)?.contains("vision=gpu") == true)
    #expect((found["reasons"] as? [Any])?.isEmpty == false)
  }

  @Test func mistakesGetOneLineAndTheirCode() throws {
    let half = try file(#"{"profile": 1, "name": "x", "units": {"cpu": {"watts": -1}}}"#)
    let version = try file(#"{"profile": 9, "name": "x", "units": {}}"#)
    let unit = try file(#"{"profile": 1, "name": "x", "units": {"npu": {}}}"#)
    let figure = try file(#"{"profile": 1, "name": "x", "units": {"cpu": {"speed": 1}}}"#)
    let base = ["simulate", "--synthetic", "e2b", "--placement", "cpu", "--profile"]
    let cases: [([String], Int32)] = [
      (base + ["nobody"], 65), (base + [half], 65), (base + [version], 65), (base + [unit], 65),
      (base + [figure], 65),
      (
        ["simulate", "--synthetic", "e2b", "--placement", "reference", "--profile", "mac-studio"],
        69
      ),
      (base + ["iphone-17-pro", "--prompt-tokens", "9000"], 65),
      (base + ["iphone-17-pro", "--max-tokens", "0"], 64),
      (base + ["iphone-17-pro", "--images", "-1"], 64),
      (["simulate", "--synthetic", "e2b"], 64), (["place"], 64), (["place", "guess"], 64),
      (["place", "compare", "cpu", "--simulate", "iphone-17-pro", "--synthetic", "e2b"], 64),
      (
        ["place", "search", "--simulate", "mac-studio", "--units", "npu", "--synthetic", "e2b"],
        65
      ),
      (["calibrate", "--model", GoldenFolder.model, "--media-every", "1"], 64),
      (["calibrate"], 64), (["calibrate", "--published", "/nowhere.json"], 65),
    ]
    for (words, code) in cases {
      let outcome = try CommandLineTests.run(words)
      #expect(outcome.code == code, "\(words): \(outcome.code) \(outcome.errors)")
      #expect(outcome.errors.split(separator: "\n").count == 1, "\(words): \(outcome.errors)")
      #expect(outcome.output.isEmpty)
    }
  }

  @Test func theReportFitsAScreen() throws {
    for words in [
      ["simulate"] + Self.phone + ["--images", "1", "--timeline"],
      ["place", "search", "--simulate", "mac-studio", "--synthetic", "e2b", "--images", "1"],
    ] {
      let outcome = try CommandLineTests.run(words)
      #expect(outcome.code == 0, "\(outcome.errors)")
      let widest = outcome.output.split(separator: "\n").max { $0.count < $1.count } ?? ""
      #expect(widest.count <= 80, "\(widest)")
    }
  }

  @Test func oneRunGivesTheAnswerAndThePrediction() throws {
    let response = try document([
      "generate", "--model", GoldenFolder.model, "--placement", "cpu", "--simulate",
      "iphone-17-pro", "--max-tokens", "3", "Hello",
    ])
    let simulated = try #require(response["simulated"] as? [String: Any])
    #expect(simulated["promptTokens"] as? Int == response["promptTokens"] as? Int)
    #expect(simulated["generatedTokens"] as? Int == (response["tokens"] as? [Int])?.count)
  }

  @Test func aMeasuredMachineIsAProfile() throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("host-\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let measured = try document([
      "calibrate", "--model", GoldenFolder.model, "--units", "cpu,neuralEngine", "--threads", "1",
      "--repeat", "1", "--validate", "2", "--media-every", "2", "--out", path,
    ])
    #expect((measured["placements"] as? [Any])?.count == 2)
    let profile = try #require(measured["profile"] as? [String: Any])
    let units = try #require(profile["units"] as? [String: [String: Any]])
    #expect(Set(units.keys) == ["cpu", "neuralEngine"])
    for unit in units.values { #expect((unit["products"] as? [Any])?.isEmpty == false) }
    let predicted = try document([
      "simulate", "--model", GoldenFolder.model, "--placement", "chunks=neuralEngine", "--profile",
      path, "--prompt-tokens", "20", "--max-tokens", "3",
    ])
    let first = try #require(predicted["timeToFirstToken"] as? [String: Double])
    #expect((first["value"] ?? 0) > 0)
  }

  @Test func assumedFiguresAreNamedWhereTheyDecide() throws {
    let base = ["--synthetic", "e2b", "--context", "2048", "--max-tokens", "3"]
    for words in [
      ["simulate", "--placement", "mission", "--profile", "iphone-17-pro"] + base,
      ["place", "compare", "cpu", "mission", "--simulate", "iphone-17-pro"] + base,
      ["place", "search", "--objective", "energy", "--simulate", "iphone-17-pro"] + base,
    ] {
      let outcome = try CommandLineTests.run(words)
      #expect(outcome.code == 0, "\(outcome.errors)")
      #expect(outcome.output.contains("assumed       watts of "), "\(words)")
    }
    let document = try document(
      ["simulate", "--placement", "cpu", "--profile", "iphone-17-pro"] + base
    )
    let assumed = try #require(document["assumed"] as? [[String: Any]])
    let cpu = try #require(assumed.first { $0["unit"] as? String == "cpu" })
    #expect((cpu["figures"] as? [String])?.isEmpty == false)
    #expect((cpu["share"] as? Double ?? 0) > 0.5)
  }

  /// The default placement says what it stood for, whatever lies where the machine's profile belongs.
  @Test(arguments: [nil, "{", #"{"profile": 1}"#])
  func autoIsSaidWithItsReason(_ text: String?) throws {
    let cache = FileManager.default.temporaryDirectory
      .appendingPathComponent("cache-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: cache) }
    let folder = cache.appendingPathComponent("troika")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if let text { try Data(text.utf8).write(to: folder.appendingPathComponent("host.json")) }
    func run(_ words: [String]) throws -> CommandLineTests.Outcome {
      try CommandLineTests.run(words, environment: ["XDG_CACHE_HOME": cache.path])
    }
    let generate = ["generate", "--model", GoldenFolder.model, "--max-tokens", "2"]
    let told = try run(generate + ["--timeline", "Hello"])
    #expect(told.code == 0)
    #expect(told.errors.contains("placement: cpu (auto: "))
    let quiet = try run(generate + ["Hello"])
    #expect(quiet.code == 0 && quiet.errors.isEmpty)
    let document = try run(generate + ["--json", "Hello"])
    #expect(document.output.contains(#""placement":"cpu","placementReason":""#))
    let given = try run(generate + ["--json", "--placement", "cpu", "Hello"])
    #expect(given.output.contains(#""placement":"cpu","placementReason":null"#))
    let plan = try run(["plan", "--model", GoldenFolder.model])
    #expect(plan.code == 0 && plan.output.contains("auto      "))
  }
}
