import Devices
import Graph

/// What the plans of programs say about memory.
struct MemoryForecast: Sendable {
  private var weights: [String: Int] = [:]
  /// Bytes of constants kept in another format than the one they are stored in.
  var convertedByteCount: Int { ownByteCount + converted.values.reduce(0, +) }
  private var ownByteCount = 0
  private var converted: [String: Int] = [:]
  /// Bytes of intermediate results of the program that has most.
  private(set) var largestArena = 0
  /// Bytes of inputs and outputs of the program that has most.
  private(set) var largestBindings = 0

  /// Adds a program.
  mutating func add(_ graph: Graph, _ footprint: Footprint) {
    for node in graph.nodes {
      guard case .constant(.weight(let name)) = node.op, graph.isReadWhole(node.id) else {
        continue
      }
      weights[name] = node.type.byteCount
    }
    ownByteCount += footprint.constantByteCount
    converted.merge(footprint.convertedWeights) { own, _ in own }
    largestArena = max(largestArena, footprint.arenaByteCount)
    let outputs = graph.outputs.filter { !$0.isState }.map { graph.nodes[$0.node].type }
    let inputs = graph.inputs.map(\.type)
    largestBindings = max(
      largestBindings,
      (inputs + outputs).reduce(0) { $0 + $1.byteCount }
    )
  }

  /// Bytes of weights that are read whole, once each, as they are stored.
  var weightByteCount: Int { weights.values.reduce(0, +) }

  /// Bytes of weights, of constants kept in another format, of the largest arena and of the largest
  /// program's values.
  var byteCount: Int { weightByteCount + convertedByteCount + largestArena + largestBindings }
}

extension Graph {
  /// Whether a constant is read by more than gathers, which touch only the rows they take.
  func isReadWhole(_ constant: Int) -> Bool {
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
