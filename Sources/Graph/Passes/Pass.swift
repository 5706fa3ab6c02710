/// One rewriting of a graph into an equivalent one.
public protocol Pass: Sendable {
  /// What the pass is called in logs and tests.
  var name: String { get }

  /// The rewritten graph; the given one is left alone.
  func run(_ graph: Graph) throws(GraphError) -> Graph
}

extension Graph {
  /// This graph after each pass in turn, verified after each.
  ///
  /// - Throws: where a pass broke an invariant.
  public func applying(_ passes: [any Pass]) throws(GraphError) -> Graph {
    var graph = self
    for pass in passes {
      graph = try pass.run(graph)
      try graph.verify()
    }
    return graph
  }

  /// Passes that suit every unit.
  public static var standardPasses: [any Pass] {
    [ConstantFolding(), CommonSubexpressions(), DeadNodes()]
  }

  /// How many nodes and outputs read each node.
  public var useCounts: [Int] {
    var counts = [Int](repeating: 0, count: nodes.count)
    for node in nodes { for input in node.inputs { counts[input] += 1 } }
    for output in outputs { counts[output.node] += 1 }
    return counts
  }

  /// The nodes that read each node, by index.
  public var readers: [[Int]] {
    var readers = [[Int]](repeating: [], count: nodes.count)
    for node in nodes {
      for input in node.inputs where readers[input].last != node.id {
        readers[input].append(node.id)
      }
    }
    return readers
  }

  /// A copy in which `rewrite` decides what stands for each node.
  ///
  /// - Parameter rewrite: given the new graph so far, the old node and its operands' new indices,
  ///   returns the new index; nil copies the node unchanged.
  /// - Returns: the new graph, with the outputs of this one.
  /// - Throws: what `rewrite` throws.
  func rebuilt(
    _ rewrite: (inout Graph, Node, [Int]) throws(GraphError) -> Int?
  ) throws(GraphError) -> Graph {
    var result = Graph(name: name)
    var mapping: [Int] = []
    mapping.reserveCapacity(nodes.count)
    for node in nodes {
      let inputs = node.inputs.map { mapping[$0] }
      if let replacement = try rewrite(&result, node, inputs) {
        mapping.append(replacement)
      } else {
        mapping.append(try result.copy(node, inputs: inputs))
      }
    }
    for output in outputs {
      result.addOutput(output.name, mapping[output.node], isState: output.isState)
    }
    return result
  }

  mutating func copy(_ node: Node, inputs: [Int]) throws(GraphError) -> Int {
    switch node.op {
    case .input, .constant: append(source: node.op, type: node.type, name: node.name)
    default: try append(node.op, inputs, name: node.name)
    }
  }
}
