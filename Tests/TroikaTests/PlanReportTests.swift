import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Troika

@Suite struct PlanReportTests {
  private static let folder = Result { try ModelFolder(path: GoldenFolder.model) }

  private func plan(
    _ placement: String,
    _ options: (inout Troika.LoadOptions) throws -> Void = { _ in }
  )
    throws -> PlanReport
  {
    var load = Troika.LoadOptions(placement: try Placement(parsing: placement), context: 640)
    try options(&load)
    return try PlanReport(PlannedModel(Self.folder.get()), load)
  }

  @Test func theProcessorNeedsNoFallbackAndMovesNothing() throws {
    let report = try plan("cpu")
    #expect(report.fallbacks.isEmpty && report.warnings.isEmpty)
    #expect(report.share(of: .cpu).fraction == 1)
    #expect(report.programs.allSatisfy { $0.crossings.isEmpty && $0.segments.count == 1 })
    let names = report.programs.map(\.name)
    #expect(Set(names).count == names.count)
    for name in ["vision630", "audio200", "embed1", "chunk1.decode", "chunk1.prefill512"] {
      #expect(names.contains(name))
    }
  }

  @Test func sharesAreWhatTheProgramsSay() throws {
    let report = try plan("chunks=neuralEngine,vision=gpu:emulated")
    let kept = report.programs.filter { $0.unit == .neuralEngine }
      .reduce(0) { $0 + ($1.operations[.neuralEngine] ?? 0) }
    let placed = report.programs.filter { $0.unit == .neuralEngine }
      .reduce(0) { $0 + $1.operationCount }
    let share = report.share(of: .neuralEngine)
    #expect(share.kept == kept && share.placed == placed && kept < placed)
    #expect(report.fallbacks.reduce(0) { $0 + $1.count } == placed - kept)
    #expect(report.fallbacks.allSatisfy { $0.reason.contains("gather") })
    #expect(report.programs.first { $0.name == "chunk1.decode" }?.hostOperations ?? 0 > 0)
    let all = report.shares.reduce(0) { $0 + $1.run }
    #expect(all == report.programs.reduce(0) { $0 + $1.operationCount })
  }

  @Test func whatRanElsewhereIsWhatThePlanForetells() async throws {
    let placement = try Placement(parsing: "chunks=neuralEngine")
    let troika = try await Troika.load(
      model: URL(fileURLWithPath: GoldenFolder.model),
      options: .init(placement: placement, context: 640)
    )
    _ = try await troika.generate("Hello", options: GenerationOptions(maxTokens: 2))
    let foretold = Set(try plan("chunks=neuralEngine").fallbacks.flatMap(\.operations))
    #expect(!troika.fallbacks.isEmpty)
    #expect(troika.fallbacks.allSatisfy { foretold.contains($0.node) })
  }

  @Test func attentionIsWrittenOutWhereSumsAreKeptInHalf() throws {
    func operations(_ accumulation: UnitNumerics.Accumulation) throws -> Int {
      let report = try plan("chunks=neuralEngine") { $0.engine.accumulation = accumulation }
      return report.share(of: .neuralEngine).kept
    }
    #expect(try operations(.f16) > operations(.f32))
  }

  @Test func theWholeBatchNeedsNoGatherOfTheLastRow() throws {
    let report = try plan("chunks=neuralEngine") { $0.sharedLayers = .all }
    #expect(report.programs.contains { $0.name == "chunk4.prefill512" })
    #expect(!report.programs.contains { $0.name.hasSuffix("prefill1") })
    let last = try plan("chunks=neuralEngine")
    #expect(last.programs.contains { $0.name == "chunk4.prefill1" })
  }

  @Test func aRefusedProgramIsNamedWithACutThatFits() throws {
    let fitting = try plan("chunks=neuralEngine") { $0.engine.layers = .atMost(3) }
    #expect(fitting.warnings.isEmpty)
    let whole = try plan("chunks=neuralEngine") {
      $0.engine.layers = .atMost(3)
      $0.layout = ChunkLayout(ends: [10], layerCount: 10)
    }
    #expect(whole.warnings.contains { $0.contains("at most 3 decoder layers, this one has 10") })
    let fit = try #require(whole.warnings.last)
    #expect(whole.warnings.count == 2)
    #expect(whole.warnings.first?.hasPrefix("chunk1 (prefill and decode): neuralEngine ") == true)
    #expect(fit.hasPrefix("--chunks ") && fit.hasSuffix(" fits"))
    let ends = try #require(fit.split(separator: " ").dropFirst().first).split(separator: ",")
    let layout = ChunkLayout(ends: ends.compactMap { Int($0) }, layerCount: 10)
    #expect(try #require(layout).ranges.allSatisfy { $0.count <= 3 })
    #expect(whole.share(of: .neuralEngine).fraction < 0.1)
    #expect(whole.fallbacks.contains { $0.reason.contains("decoder layers") })
    let decode = try plan("decode=neuralEngine") {
      $0.engine.layers = .atMost(3)
      $0.layout = ChunkLayout(ends: [10], layerCount: 10)
    }
    #expect(decode.warnings.first?.hasPrefix("chunk1 (decode): neuralEngine ") == true)
    #expect(throws: DeviceError.self) {
      try plan("chunks=neuralEngine") {
        $0.engine.layers = .atMost(3)
        $0.layout = ChunkLayout(ends: [10], layerCount: 10)
        $0.allowsFallback = false
      }
    }
  }

  @Test(arguments: ["cpu", "mission", "neuralEngine", "chunks=neuralEngine,text.layers.4.*=cpu"])
  func memoryIsWhatCompilingTakes(_ text: String) throws {
    let folder = try Self.folder.get()
    let registry = Registry(threads: 2)
    let placement = try Placement(parsing: text)
    let store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: placement
    )
    let decoder = try DecoderPrograms(
      in: store,
      text: folder.model.text,
      layout: folder.layout,
      placement: placement,
      context: 640,
      batch: 64,
      hasFixedShapes: true,
      sharedLayers: .last
    )
    let keys =
      [.vision(patches: 630, taps: []), .audio(frames: 200, taps: []), .embed(tokens: 64)]
      + decoder.keys(tokens: 64, .prefill) + decoder.keys(tokens: 1, .decode)
    for key in keys {
      let program = try store.program(key)
      for (segment, footprint) in program.parts {
        let foretold = try registry.unit(segment.unit).footprint(of: segment)
        #expect(foretold == footprint, "\(segment.graph.name)")
      }
    }
  }

  @Test func aPlanAboveTheMachinesMemoryWarns() throws {
    let memory = try plan("chunks=neuralEngine").memory
    #expect(memory.warning(machineByteCount: memory.peakByteCount) == nil)
    #expect(memory.warning(machineByteCount: 0) == nil)
    let warning = memory.warning(machineByteCount: memory.peakByteCount - 1)
    #expect(warning?.hasPrefix("memory: expected at most the machine's ") == true)
  }

  @Test func memoryThatCannotBeHadIsAnError() {
    #expect(throws: DeviceError.outOfMemory(unit: "host", byteCount: 1 << 60)) {
      _ = try Buffer(byteCount: 1 << 60)
    }
  }

  @Test(arguments: SyntheticModel.Size.allCases)
  func shapesAloneArePlanned(_ size: SyntheticModel.Size) throws {
    for format in WeightFormat.allCases {
      let planned = try PlannedModel(size, format)
      let options = Troika.LoadOptions(placement: try Placement(parsing: "mission"), context: 2048)
      let report = try PlanReport(planned, options)
      #expect(report.memory.peakByteCount > report.memory.weightByteCount)
      // Wider formats make programs that the engine refuses; those are named with what fits.
      let fits = report.share(of: .neuralEngine).fraction > 0.98
      #expect(fits == !report.warnings.contains { $0.hasPrefix("--chunks") })
      #expect(fits || format != .int4)
    }
  }

  @Test func theMissionKeepsTheEngineBusyAtRealShapes() throws {
    let options = Troika.LoadOptions(placement: try Placement(parsing: "mission"), context: 2048)
    let report = try PlanReport(PlannedModel(.e2b, .int4), options)
    #expect(report.chunks == [8, 15, 25, 35])
    #expect(report.share(of: .neuralEngine).fraction >= 0.985)
    let weights = report.programs.first { $0.name == "chunk1.decode" }?.weightByteCount ?? 0
    // The published chunk has 149.05 MiB.
    #expect(abs(Double(weights) / Double(1 << 20) - 149.05) < 1.5)
  }
}
