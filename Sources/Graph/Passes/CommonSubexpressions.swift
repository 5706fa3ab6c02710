/// Computes equal operations on equal operands once.
public struct CommonSubexpressions: Pass {
  private struct Key: Hashable {
    let op: Op
    let inputs: [Int]
    let type: TensorType
  }

  /// The pass.
  public init() {}

  /// What the pass is called.
  public var name: String { "common subexpressions" }

  /// The graph with duplicates merged into their first occurrence.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    var seen: [Key: Int] = [:]
    return try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      if node.op == .input { return nil }
      let key = Key(op: node.op, inputs: inputs, type: node.type)
      if let earlier = seen[key] { return earlier }
      let copy = try result.copy(node, inputs: inputs)
      seen[key] = copy
      return copy
    }
  }
}
