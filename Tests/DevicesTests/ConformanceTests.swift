import Devices
import Graph
import TestSupport
import Testing

/// Every operation on every unit against the Reference unit, one tolerance a unit.
@Suite struct ConformanceTests {
  /// Largest difference allowed, relative to the largest magnitude of the result.
  static let tolerances: [UnitID: Float] = [.cpu: 2e-6]

  static func run(_ problem: OpProblem, on unit: any ComputeUnit) throws -> [Float] {
    let graph = try problem.graph.applying(Graph.standardPasses)
    let executable = try unit.compile(
      Segment(unit: unit.profile.unit, graph: graph),
      over: problem.weights
    )
    var values: [String: Value] = [:]
    for input in graph.inputs {
      if let numbers = problem.floats[input.name] {
        values[input.name] = try Value(numbers, input.type.shape)
      } else {
        values[input.name] = try Value(problem.integers[input.name] ?? [], input.type.shape)
      }
    }
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try unit.wait(for: try executable.launch(values, after: []))
    return values["result"]?.floats ?? []
  }

  @Test(arguments: try OpProblem.all())
  func cpuEqualsReference(_ problem: OpProblem) throws {
    let expected = try Self.run(problem, on: ReferenceUnit())
    #expect(!expected.isEmpty)
    let scale = expected.reduce(1) { max($0, abs($1)) }
    for threads in [1, 2, 3] {
      let got = try Self.run(problem, on: CPUUnit(threads: threads))
      let worst = zip(expected, got).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
      #expect(got.count == expected.count)
      #expect(worst <= (Self.tolerances[.cpu] ?? 0) * scale * 4, "worst \(worst) of \(scale)")
    }
  }

  @Test(arguments: try OpProblem.all())
  func threadsDoNotChangeResults(_ problem: OpProblem) throws {
    let one = try Self.run(problem, on: CPUUnit(threads: 1))
    let three = try Self.run(problem, on: CPUUnit(threads: 3))
    #expect(one == three)
  }

  @Test func cacheUpdateWrapsAndKeepsPadding() throws {
    for unit in [try CPUUnit(threads: 2) as any ComputeUnit, ReferenceUnit()] {
      let tracer = Tracer("update", over: MemoryWeights())
      let cache = tracer.input("cache", TensorType(.f32, [4, 1, 2]))
      let rows = tracer.input("rows", TensorType(.f32, [3, 1, 2]))
      let position = tracer.input("position", TensorType(.i32, [1]))
      let count = tracer.input("count", TensorType(.i32, [1]))
      tracer.output(
        "cache",
        cache.updated(with: rows, position: position, count: count),
        isState: true
      )
      let graph = try tracer.finish()
      let state = try Value([0, 0, 1, 1, 2, 2, 3, 3] as [Float], [4, 1, 2])
      let executable = try unit.compile(
        Segment(unit: unit.profile.unit, graph: graph),
        over: MemoryWeights()
      )
      try unit.wait(
        for: try executable.launch(
          [
            "cache": state, "rows": try Value([7, 7, 8, 8, 9, 9] as [Float], [3, 1, 2]),
            "position": try Value([3 as Int32], [1]), "count": try Value([2 as Int32], [1]),
          ],
          after: []
        )
      )
      #expect(state.floats == [8, 8, 1, 1, 2, 2, 7, 7])
    }
  }

  @Test func bindingsAreChecked() throws {
    let problem = try #require(try OpProblem.all().first)
    let unit = ReferenceUnit()
    let executable = try unit.compile(
      Segment(unit: .reference, graph: problem.graph),
      over: problem.weights
    )
    #expect(throws: DeviceError.self) { try executable.launch([:], after: []) }
    let wrong = try Value([1, 2] as [Float], [2])
    #expect(throws: DeviceError.self) {
      try executable.launch(["x": wrong, "result": wrong], after: [])
    }
  }

  @Test func declinedOperationsAreNamed() throws {
    let tracer = Tracer("argmax", over: MemoryWeights())
    let x = tracer.input("x", TensorType(.f32, [2, 3]))
    tracer.output("result", x.transposed([1, 0]).cast(.f16))
    let graph = try tracer.finish()
    let error = #expect(throws: DeviceError.self) {
      try CPUUnit(threads: 1).compile(Segment(unit: .cpu, graph: graph), over: MemoryWeights())
    }
    #expect(error?.description.contains("cpu: declines") == true)
  }
}
