/// Stores every activation as fp16: a result is rounded to nearest even before anything reads it.
///
/// Written with casts, so that the Reference unit runs the same numerics. Results that only move
/// elements need no rounding; weights in f32 or bf16 become f16 constants, but for the rates of rotary
/// tables, whose products with late positions would lose whole turns.
public struct HalfStorage: Pass {
  /// The pass.
  public init() {}

  /// What the pass is called.
  public var name: String { "half storage" }

  /// The graph with every stored value rounded.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    // A cache is updated where it lies: its old rows were rounded when they were made.
    var unrounded: [Int: Int] = [:]
    return try graph.rebuilt { (result, node, inputs) throws(GraphError) in
      switch node.op {
      case .constant:
        // Of a table only the rows that are taken are rounded.
        guard node.type.dtype == .f32 || node.type.dtype == .bf16,
          !graph.isOnlyGathered(node.id), !graph.isOnlyRates(node.id)
        else { return nil }
        let copy = try result.copy(node, inputs: inputs)
        let half = try result.append(.cast(.f16), [copy], name: node.name)
        return graph.isOnlyLinearWeight(node.id)
          ? half : try result.append(.cast(.f32), [half], name: node.name)
      case .input:
        let copy = try result.copy(node, inputs: inputs)
        guard node.type.dtype == .f32 else { return copy }
        let rounded = try Self.round(copy, node.name, in: &result)
        unrounded[rounded] = copy
        return rounded
      case .cacheUpdate:
        let cache = unrounded[inputs[0]] ?? inputs[0]
        return try result.copy(node, inputs: [cache] + inputs.dropFirst())
      case .cast, .reshape, .transpose, .slice, .concat, .pad,
        .attentionMask, .countMask:
        return nil
      default:
        let copy = try result.copy(node, inputs: inputs)
        return node.type.dtype == .f32 ? try Self.round(copy, node.name, in: &result) : copy
      }
    }
  }

  private static func round(
    _ node: Int,
    _ name: String,
    in graph: inout Graph
  ) throws(GraphError) -> Int {
    let half = try graph.append(.cast(.f16), [node], name: name + ".store")
    return try graph.append(.cast(.f32), [half], name: name + loading)
  }

  private static let loading = ".load"

  /// The operation whose stored result a cast loads, by the cast's name.
  public static func operation(of name: String) -> String {
    Node.operation(crossing: name.hasSuffix(loading) ? String(name.dropLast(loading.count)) : name)
  }
}

extension Graph {
  /// Whether a constant only holds the rates of rotary tables.
  func isOnlyRates(_ constant: Int) -> Bool {
    let readers = nodes.filter { $0.inputs.contains(constant) }
    return !readers.isEmpty && readers.allSatisfy { $0.op == .rotaryTable }
  }

  /// Whether a constant is only a table of gathers, perhaps through views.
  func isOnlyGathered(_ constant: Int) -> Bool {
    let readers = nodes.filter { $0.inputs.contains(constant) }
    return !readers.isEmpty
      && readers.allSatisfy { reader in
        switch reader.op {
        case .gather: reader.inputs[0] == constant
        case .reshape, .slice: isOnlyGathered(reader.id)
        default: false
        }
      }
  }

  /// Whether a constant is only read as the weight of linear layers, perhaps through views.
  func isOnlyLinearWeight(_ constant: Int) -> Bool {
    let readers = nodes.filter { $0.inputs.contains(constant) }
    return !readers.isEmpty
      && readers.allSatisfy {
        $0.op == .linear && $0.inputs[1] == constant && $0.inputs[0] != constant
      }
  }
}
