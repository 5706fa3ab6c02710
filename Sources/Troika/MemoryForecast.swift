import Devices
import Graph

/// What the plans of the programs that ran say about memory.
struct MemoryForecast: Sendable {
  private var weights: [String: Int] = [:]
  private var largestArena = 0
  private var largestBindings = 0

  /// Adds a compiled program.
  mutating func add(_ program: Program) {
    let graph = program.graph
    for node in graph.nodes {
      guard case .constant(.weight(let name)) = node.op, graph.isReadWhole(node.id) else {
        continue
      }
      weights[name] = node.type.byteCount
    }
    largestArena = max(largestArena, program.arenaByteCount)
    let outputs = graph.outputs.filter { !$0.isState }.map { graph.nodes[$0.node].type }
    let inputs = graph.inputs.map(\.type)
    largestBindings = max(
      largestBindings,
      (inputs + outputs).reduce(0) { $0 + $1.byteCount }
    )
  }

  /// Bytes of weights that are read whole, of the largest arena and of the largest program's values.
  var byteCount: Int { weights.values.reduce(0, +) + largestArena + largestBindings }
}

extension Graph {
  /// Whether a constant is read by more than gathers, which touch only the rows they take.
  fileprivate func isReadWhole(_ constant: Int) -> Bool {
    nodes.contains { node in
      guard node.inputs.contains(constant) else { return false }
      switch node.op {
      case .gather: return false
      case .reshape, .slice: return isReadWhole(node.id)
      default: return true
      }
    }
  }
}
