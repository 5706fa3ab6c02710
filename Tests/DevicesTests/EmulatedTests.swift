import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// fp16 units against the Reference unit running the same rounded program.
@Suite struct EmulatedTests {
  /// A program of one rounded value.
  private func rounding() throws -> Graph {
    let tracer = Tracer("round", over: MemoryWeights())
    let x = tracer.input("x", TensorType(.f32, [65_536]))
    tracer.output("result", x.affine(1, 0))
    return try tracer.finish()
  }

  private func run(
    _ graph: Graph,
    _ inputs: [String: Value],
    on unit: any ComputeUnit,
    over weights: MemoryWeights = MemoryWeights()
  ) throws -> [Float] {
    let executable = try unit.compile(Segment(unit: unit.profile.unit, graph: graph), over: weights)
    var values = inputs
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try unit.wait(for: try executable.launch(values, after: []))
    return values["result"]?.floats ?? []
  }

  @Test func everyHalfIsKeptBitForBit() throws {
    let all = (0...UInt16.max).map { Float(Float16(bitPattern: $0)) }
    let unit = try EmulatedUnit(.emulatedGPU, threads: 2)
    let got = try run(rounding(), ["x": try Value(all, [65_536])], on: unit)
    for (index, value) in got.enumerated() {
      let wanted = Float16(bitPattern: UInt16(index))
      #expect(value == Float(wanted) || (value.isNaN && wanted.isNaN))
    }
  }

  @Test func singlesAreRoundedToNearestEven() throws {
    var random = RandomNumbers(seed: 8)
    let bits = (0..<65_536).map { _ in UInt32.random(in: 0...UInt32.max, using: &random) }
    let edges: [Float] = [65_504, 65_519.996, 65_520, -65_520, 5.9604645e-8, 2.9802322e-8, 1e-8]
    let values = edges + bits.dropFirst(edges.count).map { Float(bitPattern: $0) }
    let unit = try EmulatedUnit(.emulatedGPU, threads: 2)
    let got = try run(rounding(), ["x": try Value(values, [65_536])], on: unit)
    for (value, source) in zip(got, values) {
      let wanted = Float(Float16(source))
      #expect(value == wanted || (value.isNaN && wanted.isNaN), "\(source)")
    }
    let health = try #require(unit.health.firstUnhealthy)
    #expect(health.overflows > 0 && health.nans > 0 && health.largest == 65_504)
  }

  @Test func theFirstOverflowInTimeIsNamed() throws {
    var graph = Graph(name: "chain")
    let x = graph.append(source: .input, type: TensorType(.f32, [1]), name: "x")
    let first = try graph.append(.affine(scale: 2, offset: 0), [x], name: "first")
    let second = try graph.append(.affine(scale: 40_000, offset: 0), [first], name: "second")
    graph.addOutput("result", second)
    let unit = try EmulatedUnit(.emulatedGPU, threads: 1)
    #expect(try run(graph, ["x": try Value([1 as Float], [1])], on: unit) == [.infinity])
    #expect(try run(graph, ["x": try Value([60_000 as Float], [1])], on: unit) == [.infinity])
    #expect(unit.health.report.map(\.overflows) == [0, 1, 2])
    #expect(unit.health.firstUnhealthy?.name == "second")
    unit.health.reset()
    #expect(unit.health.firstUnhealthy == nil)
  }

  @Test func subnormalsAreFlushedWhereTheProfileSaysSo() throws {
    let profile = UnitProfile(
      unit: .emulatedGPU,
      summary: "flushing",
      activationTypes: [.f32],
      weightTypes: [.f32],
      numerics: UnitNumerics(storage: .f16, flushesSubnormals: true)
    )
    let unit = try EmulatedUnit(profile, threads: 1)
    var values = [Float](repeating: 1, count: 65_536)
    values[0] = 6.0e-5
    values[1] = 6.2e-5
    let got = try run(rounding(), ["x": try Value(values, [65_536])], on: unit)
    #expect(got[0] == 0 && got[1] > 0)
    #expect(unit.health.report.contains { $0.flushed == 1 })
  }

  @Test(arguments: try OpProblem.all())
  func gpuNumericsEqualTheRoundedReference(_ problem: OpProblem) throws {
    let graph = try problem.graph.applying(Graph.standardPasses)
    var inputs: [String: Value] = [:]
    for input in graph.inputs {
      if let numbers = problem.floats[input.name] {
        inputs[input.name] = try Value(numbers, input.type.shape)
      } else {
        inputs[input.name] = try Value(problem.integers[input.name] ?? [], input.type.shape)
      }
    }
    let expected = try run(
      try graph.applying([HalfStorage()]),
      inputs,
      on: ReferenceUnit(),
      over: problem.weights
    )
    let unit = try EmulatedUnit(.emulatedGPU, threads: 2)
    let got = try run(graph, inputs, on: unit, over: problem.weights)
    // An f32 sum on either side of a rounding boundary may differ by one unit in the last place.
    for (a, b) in zip(expected, got) {
      #expect(abs(a - b) <= max(abs(a), 6.1e-5) * 0x1p-10 * 1.01, "\(problem): \(a) \(b)")
    }
    #expect(expected.count == got.count)
  }

  @Test(
    arguments: try OpProblem.all().filter {
      $0.name.contains("attention") || $0.name.hasPrefix("cached")
    }
  )
  func attentionMaskedAndWrittenOutIsTheSame(_ problem: OpProblem) throws {
    guard !problem.name.hasPrefix("banded") else { return }
    let masked = try problem.graph.applying([AttentionMasking()])
    let written = try masked.applying([AttentionDecomposition()])
    #expect(!masked.nodes.contains { $0.op.kind == "cachedAttention" })
    #expect(!written.nodes.contains { $0.op.kind.lowercased().hasSuffix("dattention") })
    let expected = try ConformanceTests.run(problem, on: ReferenceUnit())
    for graph in [masked, written] {
      let copy = problem.replacing(graph)
      for unit in [ReferenceUnit() as any ComputeUnit, try CPUUnit(threads: 2)] {
        let got = try ConformanceTests.run(copy, on: unit)
        let worst = zip(expected, got).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
        #expect(got.count == expected.count && worst < 2e-5, "\(worst)")
      }
    }
  }

  @Test func theEngineSaysWhatItDeclinesAndWhere() throws {
    let tracer = Tracer("declined", over: MemoryWeights())
    let ids = tracer.input("ids", TensorType(.i32, [2]))
    let x = tracer.input("x", TensorType(.f32, [4, 8]))
    tracer.output("rows", x.gathered(ids))
    tracer.output("wide", tracer.input("w", TensorType(.f32, [2, 20_000])).rmsNorm(epsilon: 1e-6))
    tracer.output("deep", tracer.input("d", TensorType(.f32, [1, 1, 1, 1, 1, 2])).gelu())
    let graph = try tracer.finish()
    let profile = UnitProfile.neuralEngine
    let reasons = graph.nodes.filter { !$0.isSource }.map { node -> String in
      if case .declines(let reason) = profile.verdict(node, in: graph) { reason } else { "runs" }
    }
    #expect(reasons[0].contains("gather") && reasons[0].contains("PROBE_GEMMA4_VISION_ANE.md"))
    #expect(reasons[1].contains("16384"))
    #expect(reasons[2].contains("rank at most 5"))
    #expect(throws: DeviceError.self) {
      try EmulatedUnit(profile, threads: 1).compile(
        Segment(unit: .neuralEngine, graph: graph),
        over: MemoryWeights()
      )
    }
  }

  @Test func programsOverTheLimitAreRefusedWithTheNumbers() throws {
    let weights = MemoryWeights()
    weights.add("w", [Float](repeating: 0, count: 64), [8, 8])
    let tracer = Tracer("big", over: weights)
    tracer.output(
      "y",
      tracer.input("x", TensorType(.f32, [1, 8])).linear(tracer.weight("w", [8, 8]))
    )
    let graph = try tracer.finish()
    #expect(ProgramLimits(weightByteCount: 256).refusal(of: graph) == nil)
    let refusal = ProgramLimits(weightByteCount: 255, source: "S").refusal(of: graph)
    #expect(refusal?.contains("255") == true && refusal?.contains("256") == true)
    #expect(UnitProfile.neuralEngine.limits.weightByteCount == 1_000_000_000)
    #expect(UnitProfile.neuralEngine.limits.decoderLayers == 21)
  }
}
