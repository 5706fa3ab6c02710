/// Removes nodes that no output needs.
///
/// Inputs stay: they are the program's signature.
public struct DeadNodes: Pass {
  /// The pass.
  public init() {}

  /// What the pass is called.
  public var name: String { "dead nodes" }

  /// The graph without unneeded nodes.
  public func run(_ graph: Graph) throws(GraphError) -> Graph {
    var isLive = graph.nodes.map { $0.op == .input }
    for output in graph.outputs { isLive[output.node] = true }
    for node in graph.nodes.reversed() where isLive[node.id] {
      for input in node.inputs { isLive[input] = true }
    }
    var result = Graph(name: graph.name)
    var mapping = [Int](repeating: -1, count: graph.nodes.count)
    for node in graph.nodes where isLive[node.id] {
      mapping[node.id] = try result.copy(node, inputs: node.inputs.map { mapping[$0] })
    }
    for output in graph.outputs {
      result.addOutput(output.name, mapping[output.node], isState: output.isState)
    }
    return result
  }
}
