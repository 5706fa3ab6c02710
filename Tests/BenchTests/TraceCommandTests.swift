import Foundation
import TestSupport
import Testing

/// `generate --trace`, `--timeline` and the `overlap` part of `--json`.
@Suite struct TraceCommandTests {
  private static let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")

  private func generate(
    _ arguments: [String],
    placement: String = "vision=gpu:emulated,chunks=cpu"
  ) throws -> CommandLineTests.Outcome {
    let picture = Self.demo.appendingPathComponent("picture.png").path
    let words = String(repeating: "look at this ", count: 20)
    return try CommandLineTests.run(
      [
        "generate", "--model", Self.demo.appendingPathComponent("model").path, "--image", picture,
        "--image", picture, "--placement", placement, "--max-tokens", "3",
        "--context", "512", "--threads", "1",
      ] + arguments + ["\(words)<|image|>\(words)<|image|>What?"]
    )
  }

  private func object(_ data: Data) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private func number(_ value: Any?) throws -> Double { try #require(value as? Double) }

  @Test func aTraceFileIsOneLaneAUnitWithArrowsAndReasons() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: path) }
    let outcome = try generate(["--trace", path.path, "--json"])
    #expect(outcome.code == 0, "\(outcome.errors)")
    let answer = try object(Data(outcome.output.utf8))
    let trace = try object(Data(contentsOf: path))
    let events = try #require(trace["traceEvents"] as? [[String: Any]])
    let phases = Set(events.compactMap { $0["ph"] as? String })
    #expect(phases == ["M", "X", "s", "f"])
    var lanes: [Int: String] = [:]
    for event in events where event["name"] as? String == "thread_name" {
      let lane = try #require(event["tid"] as? Int)
      #expect(lanes[lane] == nil)
      lanes[lane] = try #require((event["args"] as? [String: Any])?["name"] as? String)
    }
    #expect(Set(lanes.values) == ["cpu", "gpu:emulated", "host"])
    let slices = events.filter { $0["ph"] as? String == "X" }
    var busy: [String: Double] = [:]
    for slice in slices {
      #expect(try number(slice["ts"]) >= 0 && number(slice["dur"]) >= 0)
      let lane = try #require(slice["tid"] as? Int)
      let unit = try #require(lanes[lane])
      let category = try #require(slice["cat"] as? String)
      #expect(["launch", "host", "idle", "compile"].contains(category))
      if category != "idle" { busy[unit, default: 0] += try number(slice["dur"]) }
    }
    let timeline = try #require(answer["timeline"] as? [[String: Any]])
    var expected: [String: Double] = [:]
    for event in timeline {
      let unit = try #require(event["unit"] as? String)
      expected[unit, default: 0] += try number(event["endNs"]) - number(event["startNs"])
    }
    #expect(Set(expected.keys) == Set(busy.keys))
    for (unit, nanoseconds) in expected {
      #expect(abs((busy[unit] ?? 0) * 1e3 - nanoseconds) < 1e3, "\(unit)")
    }
    try checkArrows(events, timeline)
  }

  /// Each arrow has a start and an end, one for each wait across lanes.
  private func checkArrows(_ events: [[String: Any]], _ timeline: [[String: Any]]) throws {
    func arrows(_ phase: String) throws -> [Int: Double] {
      var result: [Int: Double] = [:]
      for event in events where event["ph"] as? String == phase {
        let id = try #require(event["id"] as? Int)
        #expect(result[id] == nil)
        result[id] = try number(event["ts"])
      }
      return result
    }
    let (starts, ends) = (try arrows("s"), try arrows("f"))
    #expect(Set(starts.keys) == Set(ends.keys))
    for (id, start) in starts { #expect(start <= ends[id] ?? -1) }
    var units: [Int: String] = [:]
    for event in timeline {
      let task = try #require(event["task"] as? Int)
      units[task] = event["unit"] as? String
    }
    let waits = timeline.reduce(0) { sum, event in
      let after = event["after"] as? [Int] ?? []
      return sum + after.count { units[$0] != event["unit"] as? String }
    }
    #expect(starts.count == waits && waits > 0)
  }

  @Test func theOverlapIsPartOfTheDocument() throws {
    let answers = try [[], ["--serial"]].map { words in
      try object(Data(try generate(["--json"] + words).output.utf8))
    }
    #expect(answers[0]["tokens"] as? [Int] == answers[1]["tokens"] as? [Int])
    for answer in answers {
      let overlap = try #require(answer["overlap"] as? [String: Any])
      let makespan = try number(overlap["makespanNs"])
      #expect(try number(overlap["boundNs"]) <= makespan)
      #expect(try number(overlap["criticalPathNs"]) <= number(overlap["boundNs"]))
      #expect(overlap["busiestUnit"] as? String != nil)
      let units = try #require(overlap["units"] as? [[String: Any]])
      for unit in units {
        let idle = try #require(unit["idle"] as? [[String: Any]])
        let sum = try idle.reduce(try number(unit["busyNs"])) { $0 + (try number($1["ns"])) }
        #expect(sum == makespan)
      }
      let timeline = try #require(answer["timeline"] as? [[String: Any]])
      let compiling = try timeline.filter { $0["kind"] as? String == "compile" }
        .reduce(0.0) { sum, event in
          let (start, end) = (try number(event["startNs"]), try number(event["endNs"]))
          return end <= makespan ? sum + end - start : sum
        }
      let busy = try units.reduce(0.0) { $0 + (try number($1["busyNs"])) }
      #expect(busy + compiling == (try number(overlap["serialNs"])))
    }
    let serial = try #require(answers[1]["overlap"] as? [String: Any])
    #expect(try number(serial["serialNs"]) <= number(serial["makespanNs"]))
  }

  @Test func theTimelineSaysWhatLimitsIt() throws {
    let outcome = try generate(["--timeline"])
    #expect(outcome.code == 0)
    #expect(outcome.errors.contains("to the first token"))
    #expect(outcome.errors.contains("compiling "))
    #expect(outcome.errors.contains("placement: vision=gpu:emulated,chunks=cpu\n"))
    #expect(outcome.errors.contains("waiting for data from gpu:emulated"))
    #expect(outcome.errors.contains("no schedule takes less than "))
  }

  /// What is planned is not exceeded, with several media under way, by however small a model; its items
  /// add up.
  @Test(arguments: [
    "vision=gpu:emulated,chunks=cpu", "cpu", "neuralEngine",
    "vision=neuralEngine,chunks=gpu:emulated",
  ])
  func memoryStaysBelowThePlan(_ placement: String) throws {
    for media in [[], ["--audio", Self.demo.appendingPathComponent("sound.wav").path]] {
      let outcome = try generate(media + ["--json"], placement: placement)
      let answer = try object(Data(outcome.output.utf8))
      let memory = try #require(answer["memory"] as? [String: Any])
      let planned = try number(memory["plannedBytes"])
      #expect(try number(memory["peakResidentBytes"]) <= planned)
      let items = try #require(memory["planned"] as? [String: Double])
      #expect(items.values.reduce(0, +) == planned)
      for name in ["loaded", "weights", "caches", "media", "threads", "code"] {
        #expect(try #require(items[name]) > 0)
      }
    }
  }
}
