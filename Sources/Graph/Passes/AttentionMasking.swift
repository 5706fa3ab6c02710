/// Gives attention its mask as an operand, for units that do no integer arithmetic.
///
/// Positions and counts become a mask, an operation on integers that such a unit leaves to another; the
/// attention itself stays one operation.
public struct AttentionMasking: Pass {
  private let applies: @Sendable (Node) -> Bool

  /// A pass over the operations that a predicate picks.
  public init(where applies: @escaping @Sendable (Node) -> Bool = { _ in true }) {
    self.applies = applies
  }

  /// What the pass is called.
  public var name: String { "attention masking" }

  /// The graph with the picked attentions masked.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      guard applies(node) else { return nil }
      switch node.op {
      case .attention(let scale):
        guard inputs.count > 3 else { return nil }
        let rows = result.nodes[inputs[1]].type.shape[0]
        let mask = try result.append(
          .countMask(rows: rows),
          [inputs[3]],
          name: node.name + ".mask"
        )
        return try result.append(
          .maskedAttention(scale: scale),
          Array(inputs[..<3]) + [mask],
          name: node.name
        )
      case .cachedAttention(let scale, let window):
        let mask = try result.append(
          .attentionMask(
            queries: node.type.shape[0],
            past: result.nodes[inputs[1]].type.shape[0],
            new: result.nodes[inputs[3]].type.shape[0],
            window: window
          ),
          Array(inputs[5...]),
          name: node.name + ".mask"
        )
        return try result.append(
          .maskedAttention(scale: scale),
          Array(inputs[..<5]) + [mask],
          name: node.name
        )
      default: return nil
      }
    }
  }
}
