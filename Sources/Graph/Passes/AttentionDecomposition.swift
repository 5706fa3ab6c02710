/// Writes attention over given masks as products, sums and a softmax, for units that round between
/// these.
///
/// Takes what `AttentionMasking` leaves.
public struct AttentionDecomposition: Pass {
  private let applies: @Sendable (Node) -> Bool

  /// A pass over the operations that a predicate picks.
  public init(where applies: @escaping @Sendable (Node) -> Bool = { _ in true }) {
    self.applies = applies
  }

  /// What the pass is called.
  public var name: String { "attention decomposition" }

  /// Whether an operation's results hold what hides keys, which is large by design.
  public static func hidesKeys(_ name: String) -> Bool {
    name.hasSuffix(".mask") || name.hasSuffix(".masked")
  }

  /// The graph with the picked attentions written out.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      guard applies(node) else { return nil }
      var writer = Writer(graph: result, name: node.name)
      switch node.op {
      case .attention(let scale):
        guard inputs.count == 3 else { return nil }
        let output = try writer.attention(
          inputs[0],
          keys: inputs[1],
          values: inputs[2],
          mask: nil,
          scale: scale
        )
        result = writer.graph
        return output
      case .maskedAttention(let scale):
        let hasPast = inputs.count > 4
        let output = try writer.attention(
          inputs[0],
          keys: hasPast ? try writer.joined(inputs[1], inputs[3], "keys") : inputs[1],
          values: hasPast ? try writer.joined(inputs[2], inputs[4], "values") : inputs[2],
          mask: inputs[inputs.count - 1],
          scale: scale
        )
        result = writer.graph
        return output
      default: return nil
      }
    }
  }
}

/// Appends the parts of one attention.
private struct Writer {
  var graph: Graph
  let name: String

  func shape(_ node: Int) -> Shape { graph.nodes[node].type.shape }

  mutating func add(_ op: Op, _ inputs: [Int], _ label: String) throws(GraphError) -> Int {
    try graph.append(op, inputs, name: "\(name).\(label)")
  }

  /// Rows of the past, widened, then the new ones.
  mutating func joined(_ past: Int, _ new: Int, _ label: String) throws(GraphError) -> Int {
    let dtype = graph.nodes[new].type.dtype
    let wide =
      graph.nodes[past].type.dtype == dtype
      ? past : try add(.cast(dtype), [past], label + ".widen")
    return try add(.concat(axis: 0), [wide, new], label)
  }

  /// `q [Q, H, E]` over `keys`, `values [S, G, E]`; scores `[G, H/G, Q, S]`.
  mutating func attention(
    _ query: Int,
    keys: Int,
    values: Int,
    mask: Int?,
    scale: Float
  ) throws(GraphError) -> Int {
    let q = shape(query)
    let (groups, rows) = (shape(keys)[1], shape(keys)[0])
    let share = q[1] / groups
    let split = try add(.reshape([q[0], groups, share, q[2]]), [query], "split")
    let turned = try add(.transpose([1, 2, 0, 3]), [split], "queries")
    let flat = try add(.reshape([groups, share * q[0], q[2]]), [turned], "flat")
    let scaled = scale == 1 ? flat : try add(.affine(scale: scale, offset: 0), [flat], "scale")
    let keyRows = try add(.transpose([1, 0, 2]), [keys], "keyRows")
    let valueRows = try add(.transpose([1, 0, 2]), [values], "valueRows")
    var scores = try add(.matmul(transposeRight: true), [scaled, keyRows], "scores")
    if let mask {
      let square = try add(.reshape([groups * share, q[0], rows]), [scores], "square")
      let masked = try add(.binary(.add), [square, mask], "masked")
      scores = try add(.reshape([groups, share * q[0], rows]), [masked], "rows")
    }
    let shares = try add(.softmax, [scores], "softmax")
    let mixed = try add(.matmul(transposeRight: false), [shares, valueRows], "mixed")
    let apart = try add(.reshape([groups, share, q[0], q[2]]), [mixed], "apart")
    let back = try add(.transpose([2, 0, 1, 3]), [apart], "back")
    return try add(.reshape(q), [back], "heads")
  }
}
