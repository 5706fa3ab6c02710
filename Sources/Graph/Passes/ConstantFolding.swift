/// Computes what depends on literals alone and drops operations that change nothing.
public struct ConstantFolding: Pass {
  /// The pass.
  public init() {}

  /// What the pass is called.
  public var name: String { "constant folding" }

  /// The graph with literal subexpressions replaced by literals.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      if let same = identity(node, inputs: inputs, in: result) { return same }
      let literals = inputs.compactMap { result.nodes[$0].literal }
      guard !inputs.isEmpty, literals.count == inputs.count, node.type.dtype == .f32,
        let values = evaluate(node.op, literals, inputs.map { result.nodes[$0].type.shape })
      else { return nil }
      return result.append(
        source: .constant(.literal(values)),
        type: node.type,
        name: node.name
      )
    }
  }

  private func identity(_ node: Node, inputs: [Int], in graph: Graph) -> Int? {
    guard let first = inputs.first else { return nil }
    let same: Bool =
      switch node.op {
      case .affine(let scale, let offset): scale == 1 && offset == 0
      case .clamp(let lower, let upper): lower == -Float.infinity && upper == Float.infinity
      case .cast(let dtype): dtype == graph.nodes[first].type.dtype
      case .reshape(let shape): shape == graph.nodes[first].type.shape
      case .transpose(let permutation): permutation == Array(0..<permutation.count)
      case .pad(_, let before, let after): before == 0 && after == 0
      case .concat: inputs.count == 1
      default: false
      }
    return same ? first : nil
  }

  private func evaluate(_ op: Op, _ operands: [[Float]], _ shapes: [Shape]) -> [Float]? {
    switch op {
    case .reshape: return operands[0]
    case .affine(let scale, let offset): return operands[0].map { scale * $0 + offset }
    case .clamp(let lower, let upper): return operands[0].map { min(max($0, lower), upper) }
    case .binary(let kind) where shapes[0] == shapes[1]:
      return zip(operands[0], operands[1]).map { kind.apply($0, $1) }
    default: return nil
    }
  }
}

extension Node {
  /// The numbers of a literal constant.
  var literal: [Float]? {
    if case .constant(.literal(let values)) = op { values } else { nil }
  }
}

extension Binary {
  /// The function's value.
  @inlinable
  public func apply(_ left: Float, _ right: Float) -> Float {
    switch self {
    case .add: left + right
    case .subtract: left - right
    case .multiply: left * right
    case .divide: left / right
    case .maximum: left.isNaN || left >= right ? left : right
    case .minimum: left.isNaN || left <= right ? left : right
    }
  }
}
