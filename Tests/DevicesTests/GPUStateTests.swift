import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// Caches on the Vulkan unit: written in place, in either format, several conversations at a time.
@Suite(.serialized, .enabled(if: TestGPU.isAvailable, "did not run: no Vulkan device"))
struct GPUStateTests {
  /// A step that attends over a ring and writes its rows into it.
  private func step(_ format: DType, ring: Int, tokens: Int) throws -> Graph {
    let tracer = Tracer("step", over: MemoryWeights())
    func rows(_ name: String, _ count: Int, _ heads: Int, _ dtype: DType = .f32) -> Tensor {
      tracer.input(name, TensorType(dtype, [count, heads, 64]))
    }
    let (keys, values) = (rows("keys", ring, 1, format), rows("values", ring, 1, format))
    let (newKeys, newValues) = (rows("k", tokens, 1), rows("v", tokens, 1))
    let position = tracer.input("position", TensorType(.i32, [1]))
    let count = tracer.input("count", TensorType(.i32, [1]))
    tracer.output(
      "result",
      rows("q", tokens, 4).attention(
        past: (keys, values),
        new: (newKeys, newValues),
        queryPosition: position,
        position: position,
        blocks: nil,
        window: nil
      )
    )
    tracer.output(
      "keys",
      keys.updated(with: newKeys, position: position, count: count),
      isState: true
    )
    tracer.output(
      "values",
      values.updated(with: newValues, position: position, count: count),
      isState: true
    )
    return try tracer.finish()
  }

  /// Runs four steps of two conversations in turn.
  ///
  /// - Returns: all results, then the caches' numbers.
  private func run(_ graph: Graph, tokens: Int, on unit: any ComputeUnit) throws -> [Float] {
    let executable = try unit.compile(
      Segment(unit: unit.profile.unit, graph: graph),
      over: MemoryWeights()
    )
    let cache = try #require(graph.inputs.first { $0.name == "keys" }).type
    let sessions = try (0..<2).map { _ in
      ["keys": try Value(cache), "values": try Value(cache)]
    }
    var random = RandomNumbers(seed: 21)
    var results: [Float] = []
    for index in 0..<8 {
      var values = sessions[index % 2]
      for (name, heads) in [("q", 4), ("k", 1), ("v", 1)] {
        let numbers = random.floats(tokens * heads * 64)
        values[name] = try Value(
          numbers.map { ElementCoding.rounded($0, to: .f16) },
          [tokens, heads, 64]
        )
      }
      values["position"] = try Value([Int32(index / 2 * tokens)], [1])
      values["count"] = try Value([Int32(tokens)], [1])
      let result = try Value(TensorType(.f32, [tokens, 4, 64]))
      values["result"] = result
      try unit.wait(for: try executable.launch(values, after: []))
      results += result.floats
    }
    for session in sessions {
      for name in ["keys", "values"] {
        let value = try #require(session[name])
        results += ElementCoding.decode(value.pointer, value.type)
      }
    }
    return results
  }

  @Test(arguments: [DType.f32, .f16], [16, 1100])
  func cachesAreWrittenInPlace(_ format: DType, _ ring: Int) throws {
    for tokens in [1, 5] {
      let graph = try step(format, ring: ring, tokens: tokens)
      let rounded = try graph.applying([HalfStorage()])
      let expected = try run(rounded, tokens: tokens, on: ReferenceUnit())
      for unit in [try #require(TestGPU.unit), try #require(TestGPU.copying)] {
        let got = try run(graph, tokens: tokens, on: unit)
        let worst = GPUTests.worst(expected, got, floor: 0.01)
        #expect(got.count == expected.count && worst <= 1.01, "\(worst)")
        #expect(unit.validationMessages.count == 0, "\(unit.validationMessages.last)")
      }
    }
  }

  @Test func commandBuffersDieWithTheirCaches() throws {
    let unit = try #require(TestGPU.unit)
    let graph = try step(.f16, ring: 1100, tokens: 1)
    weak var state: GPUState?
    try {
      let value = try Value(TensorType(.f16, [1100, 1, 64]))
      state = try GPUState.of(value, unit.context)
      #expect(state != nil)
      _ = try run(graph, tokens: 1, on: unit)
    }()
    #expect(state == nil)
  }
}
