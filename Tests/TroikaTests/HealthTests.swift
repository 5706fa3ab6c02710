import Devices
import Graph
import TestSupport
import Testing

@testable import Troika

/// What is said of numbers that leave the range of fp16.
@Suite struct HealthTests {
  @Test func aKeyThatOverflowsInACacheIsReported() throws {
    let registry = Registry(threads: 1)
    let unit = try registry.unit(.cpu)
    #expect(registry.health(of: [.neuralEngine]).isEmpty)
    let tracer = Tracer("update", over: MemoryWeights())
    let cache = tracer.input("layers.3.keys", TensorType(.f16, [4, 1, 2]))
    let rows = tracer.input("rows", TensorType(.f32, [2, 1, 2]))
    let position = tracer.input("position", TensorType(.i32, [1]))
    let count = tracer.input("count", TensorType(.i32, [1]))
    let written = cache.updated(with: rows, position: position, count: count)
    tracer.output("layers.3.keys", written, isState: true)
    let graph = try tracer.finish()
    let executable = try unit.compile(Segment(unit: .cpu, graph: graph), over: MemoryWeights())
    let state = try Value(TensorType(.f16, [4, 1, 2]))
    func write(_ numbers: [Float]) throws {
      let bindings = [
        "layers.3.keys": state, "rows": try Value(numbers, [2, 1, 2]),
        "position": try Value([0 as Int32], [1]), "count": try Value([2 as Int32], [1]),
      ]
      try unit.wait(for: try executable.launch(bindings, after: []))
    }
    try write([65_504, -65_519, 1, .infinity])
    #expect(registry.health(of: [.neuralEngine]).isEmpty)
    try write([65_520, -70_000, 1, 2])
    let health = try #require(registry.health(of: [.neuralEngine]).first)
    #expect(health.unit == .cpu)
    #expect(health.firstUnhealthy?.overflows == 2)
    #expect(health.summary.hasPrefix("cpu: 2 overflows, 0 NaN"))
    #expect(health.summary.contains("first at "))
  }
}
