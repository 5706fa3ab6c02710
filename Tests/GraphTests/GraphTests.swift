import Graph
import TestSupport
import Testing

@Suite struct GraphTests {
  /// `gelu(x·Aᵀ) * (x·Bᵀ) + 0·x`, with something dead and something twice.
  private func sample() throws -> Graph {
    let weights = MemoryWeights()
    weights.add("a", RandomNumbers(seed: 1).copyFloats(12), [3, 4])
    weights.add("b", RandomNumbers(seed: 2).copyFloats(12), [3, 4])
    let tracer = Tracer("sample", over: weights)
    let x = tracer.input("x", TensorType(.f32, [2, 4]))
    tracer.scope("mlp") {
      let gate = x.linear(tracer.weight("a", [3, 4]), as: "gate").gelu()
      let up = x.linear(tracer.weight("b", [3, 4]), as: "up")
      let again = x.linear(tracer.weight("b", [3, 4]), as: "up")
      _ = x.softcap(2)
      tracer.output("y", gate * (up + again).affine(1))
    }
    return try tracer.finish()
  }

  @Test func printsTheSameTextForever() throws {
    let expected = """
      graph sample
        %0 = input : f32[2x4]  x
        %1 = weight : f32[3x4]  a
        %2 = linear %0 %1 : f32[2x3]  mlp.gate
        %3 = weight : f32[3x4]  b
        %4 = linear %0 %3 : f32[2x3]  mlp.up
        %5 = gelu %2 : f32[2x3]  mlp.gelu
        %6 = add %4 %4 : f32[2x3]  mlp.add
        %7 = multiply %5 %6 : f32[2x3]  mlp.multiply
        return y = %7

      """
    let graph = try sample().applying(Graph.standardPasses)
    // The order of independent nodes is that of the trace.
    #expect(graph.nodes.count == 8)
    #expect(graph.description.split(separator: "\n").count == expected.split(separator: "\n").count)
    #expect(graph.description.contains("add %4 %4") || graph.description.contains("add %5 %5"))
    #expect(try sample().applying(Graph.standardPasses).description == graph.description)
  }

  @Test func fusesGatedGelu() throws {
    let graph = try sample().applying(Graph.standardPasses + [GatedGeluFusion()])
    #expect(graph.nodes.contains { $0.op == .gatedGelu })
    #expect(!graph.nodes.contains { $0.op == .unary(.gelu) })
  }

  @Test func foldsLiterals() throws {
    let tracer = Tracer("fold", over: MemoryWeights())
    let x = tracer.input("x", TensorType(.f32, [2]))
    let numbers = tracer.literal([1, 2], [2], name: "numbers").affine(2, 1).clamped(0, 4)
    tracer.output("y", x + numbers)
    let graph = try tracer.finish().applying(Graph.standardPasses)
    #expect(graph.nodes.contains { $0.op == .constant(.literal([3, 4])) })
    #expect(graph.nodes.count == 3)
  }

  @Test func errorsNameTheNode() {
    let weights = MemoryWeights()
    weights.add("w", [1, 2, 3, 4], [2, 2])
    let tracer = Tracer("bad", over: weights)
    let x = tracer.input("x", TensorType(.f32, [2, 3]))
    tracer.scope("layers.4") {
      tracer.output("y", x.linear(tracer.weight("w", [2, 2]), as: "q_proj") + x)
    }
    let error = #expect(throws: GraphError.self) { try tracer.finish() }
    #expect(error?.description.hasPrefix("layers.4.q_proj: expected weight [N x 3]") == true)
  }

  @Test func missingAndMisshapenWeightsAreNamed() {
    let weights = MemoryWeights()
    weights.add("w", [1, 2, 3, 4], [2, 2])
    for (name, expected) in [
      ("v", GraphError.missingWeight("v")),
      ("w", GraphError.weightShape(name: "w", expected: [4], got: [2, 2])),
    ] {
      let tracer = Tracer("bad", over: weights)
      tracer.output("y", tracer.input("x", TensorType(.f32, [4])) + tracer.weight(name, [4]))
      #expect(throws: expected) { try tracer.finish() }
    }
  }

  @Test func outputsMustNotShadowInputs() throws {
    let tracer = Tracer("shadow", over: MemoryWeights())
    tracer.output("x", tracer.input("x", TensorType(.f32, [2])).gelu())
    #expect(throws: GraphError.duplicateName("x")) { try tracer.finish() }
  }

  @Test func segmentsCoverEveryOperationOnce() throws {
    let graph = try sample().applying(Graph.standardPasses)
    let segments = try graph.segments { node in
      node.name.hasSuffix("gate") || node.name.hasSuffix("add") ? .reference : .cpu
    }
    #expect(segments.count > 2)
    let total = segments.reduce(0) { $0 + $1.operationCount }
    #expect(total == graph.nodes.count { !$0.isSource })
    for segment in segments { try segment.graph.verify() }
    for (earlier, later) in zip(segments, segments.dropFirst()) {
      #expect(earlier.unit != later.unit)
    }
    var known = Set(graph.inputs.map(\.name))
    for segment in segments {
      #expect(segment.graph.inputs.allSatisfy { known.contains($0.name) })
      known.formUnion(segment.graph.outputs.map(\.name))
    }
    #expect(known.contains("y"))
  }
}

extension RandomNumbers {
  func copyFloats(_ count: Int) -> [Float] {
    var copy = self
    return copy.floats(count)
  }
}
