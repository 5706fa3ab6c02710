import Graph

/// What one launch of a program asks of its units, as its graph states it.
public struct StageWork: Hashable, Sendable {
  /// Floating-point operations, a multiply-add counted as two.
  public var flops = 0
  /// Bytes of weights: matrices whole and once, of tables the rows that are taken.
  public var weightByteCount = 0
  /// Bytes of results written and of operands read that are no weights, caches as far as they are
  /// filled; units that fuse operations move less.
  public var activationByteCount = 0

  /// Work from its parts.
  public init(flops: Int = 0, weightByteCount: Int = 0, activationByteCount: Int = 0) {
    self.flops = flops
    self.weightByteCount = weightByteCount
    self.activationByteCount = activationByteCount
  }

  /// The work of a graph.
  ///
  /// - Parameters:
  ///   - graph: the program as it is placed.
  ///   - position: filled rows of caches; attention over a mask reads all of them all the same.
  init(_ graph: Graph, position: Int) {
    weightByteCount = PartWork.Program(graph) { _ in true }.weightByteCount
    for node in graph.nodes where !node.isSource && !graph.isConstant(node.id) {
      var inputs = node.inputs.map { graph.nodes[$0].type }
      if case .cachedAttention = node.op {
        for past in [1, 2] {
          let rows = min(position, inputs[past].shape[0])
          let shape = inputs[past].shape.replacingFirst(with: rows)
          inputs[past] = TensorType(inputs[past].dtype, shape)
        }
      }
      let cost = node.op.cost(inputs: inputs, result: node.type)
      flops += cost.flops
      activationByteCount += cost.bytesRead + cost.bytesWritten
      guard cost.bytesRead > 0 else { continue }
      var constants = 0
      for (input, type) in zip(node.inputs, inputs) where graph.isConstant(input) {
        constants += type.byteCount
      }
      if case .gather = node.op, graph.isConstant(node.inputs[0]) {
        constants = cost.bytesRead - inputs[1].byteCount
        weightByteCount += constants
      }
      activationByteCount -= constants
    }
  }
}
