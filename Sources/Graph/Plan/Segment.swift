/// A run of operations on one unit, as a program of its own.
public struct Segment: Hashable, Sendable {
  /// The unit it runs on.
  public let unit: UnitID
  /// The operations, with the values that cross the boundary as inputs and outputs.
  public let graph: Graph

  /// A segment from its parts.
  public init(unit: UnitID, graph: Graph) {
    self.unit = unit
    self.graph = graph
  }

  /// Operations, sources not counted.
  public var operationCount: Int { graph.nodes.count { !$0.isSource } }
}

extension Graph {
  /// Cuts the graph into maximal runs of one unit, in an order in which they can run.
  ///
  /// Values crossing a cut are named `%N:name` after their node; inputs and outputs of the graph keep
  /// their names.
  ///
  /// - Parameter unit: where each operation runs.
  /// - Returns: the segments in order.
  /// - Throws: where an operation does not fit its operands.
  public func segments(
    placing unit: (Node) -> UnitID
  ) throws(GraphError) -> [Segment] {
    var groups: [(unit: UnitID, nodes: [Node])] = []
    let units = nodes.map { $0.isSource ? nil : unit($0) }
    for node in ordered(placing: units) {
      guard let choice = units[node.id] else { continue }
      if groups.last?.unit == choice {
        groups[groups.count - 1].nodes.append(node)
      } else {
        groups.append((choice, [node]))
      }
    }
    var segments: [Segment] = []
    for (index, group) in groups.enumerated() {
      let name = groups.count == 1 ? self.name : "\(self.name)/\(index)"
      // A result that is only an input or constant by another name belongs to the first segment.
      let passed = index == 0 ? outputs.filter { nodes[$0.node].isSource } : []
      segments.append(
        Segment(
          unit: group.unit,
          graph: try subgraph(named: name, of: group.nodes, passing: passed)
        )
      )
    }
    return segments
  }

  private func subgraph(
    named name: String,
    of members: [Node],
    passing passed: [Output]
  ) throws(GraphError) -> Graph {
    var result = Graph(name: name)
    let inside = Set(members.map(\.id))
    var mapping: [Int: Int] = [:]
    for node in members {
      let needed = node.id == members.first?.id ? passed.map(\.node) + node.inputs : node.inputs
      for input in needed where mapping[input] == nil && !inside.contains(input) {
        let source = nodes[input]
        let op: Op = source.isWeight ? source.op : .input
        let label = source.isSource ? source.name : source.crossingName
        mapping[input] = result.append(source: op, type: source.type, name: label)
      }
    }
    for node in members {
      mapping[node.id] = try result.copy(node, inputs: node.inputs.compactMap { mapping[$0] })
    }
    let readers = nodes.filter { !inside.contains($0.id) }.flatMap(\.inputs)
    for output in passed { result.addOutput(output.name, mapping[output.node] ?? -1) }
    for output in outputs where inside.contains(output.node) {
      let isState = output.isState && result.inputs.contains { $0.name == output.name }
      result.addOutput(output.name, mapping[output.node] ?? -1, isState: isState)
    }
    for id in Set(readers).intersection(inside).sorted() {
      result.addOutput(nodes[id].crossingName, mapping[id] ?? -1)
    }
    return result
  }
}

extension Node {
  /// What its result is called where it crosses a cut.
  fileprivate var crossingName: String { "%\(id):\(name)" }

  /// The operation that made a value, by the name it crosses a cut under.
  public static func operation(crossing name: String) -> String {
    guard name.hasPrefix("%"), let colon = name.firstIndex(of: ":") else { return name }
    return String(name[name.index(after: colon)...])
  }
}
