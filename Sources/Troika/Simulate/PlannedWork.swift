import Graph

/// A program as a schedule needs it: what it asks of which unit, and which caches it touches.
struct PlannedWork: Hashable, Sendable {
  /// A part of it on one unit.
  struct Run: Hashable, Sendable {
    let unit: UnitID
    var work: ProgramWork
    /// Whether it computes nothing: masks, cache writes, rows that are taken, formats that change.
    let isMovement: Bool
  }

  /// What timelines call it.
  let name: String
  /// Its parts in order.
  let runs: [Run]
  /// Caches it reads or makes the next value of.
  let readStates: Set<String>
  /// Caches it makes the next value of.
  let writtenStates: Set<String>

  /// A placed graph in its segments.
  init(name: String, unit: UnitID, _ graph: Graph, _ cut: [Segment]) {
    self.name = name
    let states = graph.outputs.filter(\.isState)
    writtenStates = Set(states.map(\.name))
    readStates = Set(graph.inputs.map(\.name).filter { $0.isStateName })
    var runs = cut.map { segment in
      var work = ProgramWork(segment.graph)
      work.updatedStates = []
      return Run(unit: segment.unit, work: work, isMovement: segment.graph.isMovement)
    }
    // Whoever writes a cache in the end, the program's own unit hands its next value out.
    let main = runs.indices.filter { runs[$0].unit == unit }
      .max { runs[$0].work.flops < runs[$1].work.flops }
    if let main {
      runs[main].work.updatedStates = states.map { graph.nodes[$0.node].type.byteCount }
    }
    self.runs = runs
  }
}

extension Graph {
  /// Whether nothing is computed: masks, cache writes, gathers and changes of format.
  var isMovement: Bool {
    nodes.allSatisfy { node in
      guard isOperation(node) else { return true }
      if case .cast = node.op { return true }
      let inputs = node.inputs.map { nodes[$0].type }
      return node.op.cost(inputs: inputs, result: node.type).flops == 0
    }
  }
}

extension String {
  /// Whether a decoder program calls a cache so.
  fileprivate var isStateName: Bool { hasSuffix(".keys") || hasSuffix(".values") }
}
