/// A program of static shapes: nodes in an order in which they can run.
///
/// An input's index is below its node's own, so the array is a topological order by construction.
public struct Graph: Hashable, Sendable {
  /// A named result.
  ///
  /// A state output replaces the input of the same name: a unit may write it in
  /// place.
  public struct Output: Hashable, Sendable {
    /// The name it is bound by.
    public let name: String
    /// The node that makes it.
    public let node: Int
    /// Whether it is the next value of the input with the same name.
    public let isState: Bool

    /// An output from its parts.
    public init(name: String, node: Int, isState: Bool = false) {
      self.name = name
      self.node = node
      self.isState = isState
    }
  }

  /// What the program is called in plans, traces and reports.
  public let name: String
  /// All nodes.
  public private(set) var nodes: [Node] = []
  /// The results, in binding order.
  public private(set) var outputs: [Output] = []

  /// An empty program.
  public init(name: String) { self.name = name }

  /// The input nodes, in binding order.
  public var inputs: [Node] { nodes.filter { $0.op == .input } }

  /// Adds a node, its type inferred from its operands.
  ///
  /// - Returns: the index of the new node.
  /// - Throws: `GraphError` where the operands do not fit the operation.
  @discardableResult
  public mutating func append(_ op: Op, _ inputs: [Int], name: String) throws(GraphError) -> Int {
    for input in inputs where input < 0 || input >= nodes.count {
      throw .unknownOperand(node: name, operand: input)
    }
    let type: TensorType
    do {
      type = try op.resultType(of: inputs.map { nodes[$0].type })
    } catch {
      throw .operands(node: name, reason: error.reason)
    }
    nodes.append(Node(id: nodes.count, op: op, inputs: inputs, type: type, name: name))
    return nodes.count - 1
  }

  /// Adds a value whose type nothing determines: an input or a constant.
  public mutating func append(source op: Op, type: TensorType, name: String) -> Int {
    nodes.append(Node(id: nodes.count, op: op, inputs: [], type: type, name: name))
    return nodes.count - 1
  }

  /// Names a node as a result.
  public mutating func addOutput(_ name: String, _ node: Int, isState: Bool = false) {
    outputs.append(Output(name: name, node: node, isState: isState))
  }

  /// Checks every invariant of the IR.
  ///
  /// - Throws: the first one broken.
  public func verify() throws(GraphError) {
    var names: Set<String> = []
    for node in nodes {
      for input in node.inputs where input < 0 || input >= node.id {
        throw .unknownOperand(node: node.name, operand: input)
      }
      switch node.op {
      case .input:
        guard names.insert(node.name).inserted else { throw .duplicateName(node.name) }
      case .constant(.literal(let values)):
        guard values.count == node.type.shape.elementCount else {
          throw .operands(
            node: node.name,
            reason: "\(values.count) literal values for \(node.type)"
          )
        }
      case .constant(.weight): break
      default:
        let expected: TensorType
        do {
          expected = try node.op.resultType(of: node.inputs.map { nodes[$0].type })
        } catch {
          throw .operands(node: node.name, reason: error.reason)
        }
        guard expected == node.type else {
          throw .resultType(node: node.name, expected: expected, got: node.type)
        }
      }
    }
    var results: Set<String> = []
    for output in outputs {
      guard nodes.indices.contains(output.node) else {
        throw .unknownOperand(node: output.name, operand: output.node)
      }
      guard results.insert(output.name).inserted, output.isState || !names.contains(output.name)
      else { throw .duplicateName(output.name) }
      if output.isState {
        guard let input = nodes.first(where: { $0.op == .input && $0.name == output.name }),
          input.type == nodes[output.node].type
        else { throw .stateWithoutInput(output.name) }
      }
    }
  }
}
