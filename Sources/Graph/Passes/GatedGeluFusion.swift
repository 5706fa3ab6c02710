/// Joins `gelu(gate) * up` into one operation, for units that have it.
public struct GatedGeluFusion: Pass {
  /// The pass.
  public init() {}

  /// What the pass is called.
  public var name: String { "gated gelu fusion" }

  /// The graph with each product of a GELU that nothing else reads fused.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    let uses = graph.useCounts
    let fused = try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      guard node.op == .binary(.multiply), inputs.count == 2 else { return nil }
      for (gelu, up) in [(0, 1), (1, 0)] {
        let candidate = graph.nodes[node.inputs[gelu]]
        guard candidate.op == .unary(.gelu), uses[candidate.id] == 1,
          candidate.type == graph.nodes[node.inputs[up]].type
        else { continue }
        let gate = result.nodes[inputs[gelu]].inputs[0]
        return try result.append(.gatedGelu, [gate, inputs[up]], name: node.name)
      }
      return nil
    }
    return try DeadNodes().run(fused)
  }
}
