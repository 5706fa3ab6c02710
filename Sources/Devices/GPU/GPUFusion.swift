import Graph

/// Operations that the dispatch before them does on its way out.
extension GPULowering {
  /// The one operation that reads a result, where nothing else does.
  func onlyReader(of node: Node) -> Node? {
    guard useCounts[node.id] == 1 else { return nil }
    return graph.nodes[(node.id + 1)...].first { $0.inputs.contains(node.id) }
  }

  /// The range of the clamp that is all that reads a result, whose own result then lies at `target`.
  ///
  /// Rounding after the clamp gives what rounding before and after it does.
  mutating func takeClamp(of node: Node, at target: GPURange) -> (lower: Float, upper: Float)? {
    guard let reader = onlyReader(of: node) else { return nil }
    if case .reshape = reader.op { return takeClamp(of: reader, at: target) }
    guard case .clamp(let lower, let upper) = reader.op else { return nil }
    place(reader.id, at: target)
    return (lower, upper)
  }

  /// The other operand of the sum that is all that reads a result, where it is there already; the
  /// sum then lies at `target`.
  mutating func takeSum(of node: Node, at target: GPURange) throws -> GPURange? {
    guard let reader = onlyReader(of: node), reader.op == .binary(.add) else { return nil }
    let other = reader.inputs[0] == node.id ? reader.inputs[1] : reader.inputs[0]
    guard other < node.id, graph.nodes[other].type == node.type, reader.type == node.type else {
      return nil
    }
    let range = try range(of: other)
    place(reader.id, at: target)
    return range
  }
}
