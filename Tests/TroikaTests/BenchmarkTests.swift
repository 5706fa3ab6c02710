import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Troika

@Suite struct BenchmarkTests {
  static let suite = """
    {"name": "test", "images": [[64, 48]], "frames": [[48, 48]], "audioSeconds": [1],
     "prefill": [8, 16], "depths": [4, 40, 9000]}
    """

  static func node(_ text: String, _ name: String = "a.json") throws -> JSONNode {
    let value = try Array(text.utf8).withUnsafeBytes { try JSONValue(parsing: $0, subject: name) }
    return JSONNode(value, subject: name)
  }

  /// A run on a clock that moves by what a wrapped processor unit takes for a program.
  private func run(
    units: [UnitID] = [.cpu],
    placement: Placement? = nil,
    stages: [String] = [],
    repeats: Int = 2,
    _ duration: @escaping @Sendable (String) -> Int = { _ in 1000 }
  ) throws -> BenchReport {
    let clock = StillClock()
    let registry = Registry(threads: 1).replacing(.cpu) {
      ClockedUnit(inner: try CPUUnit(threads: 1), clock: clock, duration: duration)
    }
    var options = Benchmark.Options()
    options.units = units
    options.placement = placement
    options.stages = stages
    options.repeats = repeats
    options.warmUps = 1
    return try measure(options, registry, clock.read)
  }

  private func measure(
    _ options: Benchmark.Options,
    _ registry: Registry,
    _ clock: @escaping @Sendable () -> Int
  ) throws -> BenchReport {
    var benchmark = try Benchmark(
      ModelFolder(path: GoldenFolder.model),
      BenchSuite(Self.node(Self.suite)),
      options,
      load: Troika.LoadOptions(context: 64, threads: 1),
      registry: registry,
      clock: clock
    )
    benchmark.others = { 0 }
    benchmark.probe = .init(square: 64, wide: 128)
    benchmark.yardstick = .init(byteCount: 1 << 12, steps: 10)
    return try benchmark.measure()
  }

  @Test func everyStageIsListed() throws {
    let report = try run()
    var expected = [
      "decode.image64x48", "decode.clip48x48", "decode.sound1s", "preprocess.image64x48",
      "preprocess.frame48x48", "preprocess.sound1s", "sample.greedy", "sample.top40",
      "vision.image64x48", "vision.frame48x48", "audio.1s", "embed.1", "embed.8", "embed.16",
    ]
    for chunk in 1...4 {
      expected += ["prefill8", "prefill16", "decode@4", "decode@40"].map { "chunk\(chunk).\($0)" }
    }
    #expect(Set(report.rows.map(\.stage)) == Set(expected + ["head"]))
    #expect(report.rows.count == expected.count + 1 && report.refusals.isEmpty)
    #expect(report.rows.allSatisfy { $0.samples.nanoseconds.count == 2 })
    #expect(report.shapes == "chunks 3,6,8,10, context 64" && report.suite == "test")
    let chunk = try #require(report.rows.first { $0.stage == "chunk2.decode@4" })
    #expect(chunk.unit == .cpu && chunk.operations > 0 && chunk.elsewhere == 0)
    #expect(chunk.work.flops > 0 && chunk.work.weightByteCount > 0)
    let deeper = try #require(report.rows.first { $0.stage == "chunk2.decode@40" })
    #expect(deeper.work.flops > chunk.work.flops && deeper.buildNanoseconds == nil)
    #expect(deeper.work.weightByteCount == chunk.work.weightByteCount)
  }

  @Test func aBusyLoopInOneStageShowsThereAlone() throws {
    let before = try run(repeats: 8)
    let after = try run(repeats: 8) { $0 == "chunk2.decode" ? 1100 : 1000 }
    for change in after.changes(since: before) where change.unit == .cpu {
      let comparison = try #require(change.comparison)
      let isSlowed = change.stage.hasPrefix("chunk2.decode")
      #expect(comparison.ratio == (isSlowed ? 1.1 : 1), "\(change.stage)")
      #expect(comparison.verdict(threshold: 0.05) == (isSlowed ? .slower : .same))
    }
    #expect(after.rows.count { $0.samples.nanoseconds.allSatisfy { $0 == 1100 } } == 2)
  }

  @Test func allOfTheTimeIsAccountedFor() throws {
    let report = try run(stages: ["chunk", "vision"])
    // On this clock only launches take time.
    #expect(report.wallNanoseconds - openNanoseconds(report) > 0)
    #expect(report.residualNanoseconds == 0)
    let steady = report.rows.reduce(0) { $0 + $1.samples.nanoseconds.reduce(0, +) }
    #expect(report.shares.first { $0.name == "steady" }?.nanoseconds == steady)
  }

  private func openNanoseconds(_ report: BenchReport) -> Int {
    report.shares.first { $0.name == "open" }?.nanoseconds ?? 0
  }

  @Test func unitsAndPlacementsSayWhereStagesRun() throws {
    let both = try run(units: [.cpu, .neuralEngine], stages: ["chunk1", "vision.i*"])
    #expect(both.rows.count == 2 * 5)
    #expect(Set(both.limits.map(\.unit)) == [.cpu, .neuralEngine])
    let engine = try #require(both.rows.first { $0.unit == .neuralEngine })
    #expect(engine.operations > 0)
    let placement = try Placement(parsing: "chunk2=neuralEngine,embed=reference")
    let placed = try run(units: [], placement: placement, stages: ["chunk", "embed.1"])
    for row in placed.rows {
      let unit: UnitID =
        row.stage.hasPrefix("chunk2")
        ? .neuralEngine : row.stage.hasPrefix("embed") ? .reference : .cpu
      #expect(row.unit == unit, "\(row.stage)")
    }
  }

  @Test func whatAUnitRefusesIsSaidAndNotTimed() throws {
    let registry = Registry(
      threads: 1,
      engine: try EngineOptions(parsing: "program-bytes=1000")
    )
    var options = Benchmark.Options()
    options.units = [.neuralEngine]
    options.stages = ["chunk3.decode", "sample.greedy"]
    options.repeats = 1
    let report = try measure(options, registry) { MonotonicClock.nanoseconds }
    #expect(report.rows.map(\.stage) == ["sample.greedy"])
    #expect(report.refusals.map(\.stage) == ["chunk3.decode@4", "chunk3.decode@40"])
    #expect(report.limits.isEmpty)
    #expect(report.refusals.allSatisfy { $0.reason.contains("1000 bytes") })
  }

  @Test func patternsThatFitNothingAreAMistake() throws {
    #expect(throws: TroikaError.self) { try run(stages: ["dance"]) }
  }

  @Test func aDocumentReadsBackAsItWas() throws {
    var report = try run(stages: ["chunk1", "decode"])
    report.refusals.append(.init(stage: "head", unit: .gpu, reason: "too \"large\""))
    let text = report.json.text(.indented)
    #expect(try BenchReport(Self.node(text)) == report)
  }

  @Test func documentsOfOtherSchemasAreRefused() throws {
    let text = try run(stages: ["sample"]).json.text(.compact)
    for version in ["2", "0", "\"1\"", "null"] {
      let other = text.replacing("\"schema\":1", with: "\"schema\":\(version)")
      let error = #expect(throws: JSONError.self) { try BenchReport(Self.node(other, "old.json")) }
      #expect("\(try #require(error))".hasPrefix("old.json: field 'schema': expected "))
    }
    let broken = text.replacing("\"samplesNs\":[", with: "\"samplesNs\":[-1,")
    #expect(throws: JSONError.self) { try BenchReport(Self.node(broken)) }
  }

  @Test func stagesThatComeAndGoAreSaid() throws {
    let before = try run(stages: ["chunk1", "head"])
    let after = try run(stages: ["chunk1.decode", "sample.greedy"])
    let changes = after.changes(since: before)
    #expect(changes.first { $0.stage == "sample.greedy" }?.isNew == true)
    let gone = changes.filter { $0.comparison == nil && !$0.isNew }
    #expect(gone.map(\.stage) == ["chunk1.prefill8", "chunk1.prefill16", "head"])
  }

  @Test(arguments: [
    ("\"images\": [[64]]", "images[0]"), ("\"images\": [[0, 1]]", "images[0][0]"),
    ("\"images\": [], \"more\": 1", "top"),
  ])
  func suitesAreRead(_ field: String, _ place: String) throws {
    let text = Self.suite.replacing("\"images\": [[64, 48]]", with: field)
    let error = #expect(throws: JSONError.self) { try BenchSuite(Self.node(text, "suite.json")) }
    #expect("\(try #require(error))".hasPrefix("suite.json: field '\(place)'"))
  }
}
