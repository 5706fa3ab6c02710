import Devices
import Graph

/// What the plans of programs say about memory.
struct MemoryForecast: Sendable {
  private var weights: [String: Int] = [:]
  /// Bytes of constants kept in another format than the one they are stored in.
  var convertedByteCount: Int { ownByteCount + converted.values.reduce(0, +) }
  private var ownByteCount = 0
  private var converted: [String: Int] = [:]
  /// Bytes of intermediate results of the segment that has most, by unit: a unit keeps its arena.
  private var arenas: [UnitID: Int] = [:]
  /// Tables of which only rows are read, with the bytes of a row.
  private var tables: [String: (row: Int, all: Int)] = [:]
  /// Values that are handed from program to program, by name, in their largest shape.
  private var bindings: [String: Int] = [:]
  /// Bytes of values that cross between units inside the program that has most.
  private var largestCrossing = 0
  /// Bytes of cache rows that are kept for a repetition, of the program that writes most.
  private var largestKept = 0

  /// Bytes of a row of features.
  private var featureRowByteCount = 0

  /// Bytes of values that live between and beside the programs: of the batches and encodings that are
  /// under way at a time, and of one program on each unit.
  var bindingByteCount: Int {
    let running = max(arenas.count, 1) * (largestCrossing + largestKept)
    return PromptRun.batchesAtOnce * bindings.values.reduce(0, +) + running
  }

  /// Bytes of the features of soft tokens that wait for their batch.
  func featureByteCount(tokens: Int) -> Int { tokens * featureRowByteCount }

  /// Bytes of the arenas of all units.
  var arenaByteCount: Int { arenas.values.reduce(0, +) }

  /// Bytes of mapped tables that come into memory with some rows: the system maps them in windows.
  func tableByteCount(rows: Int) -> Int {
    let window = 1 << 16
    return tables.values.reduce(0) { sum, table in
      sum + min(rows * (table.row / window + 2) * window, table.all)
    }
  }

  /// Adds a program in its segments.
  mutating func add(_ graph: Graph, _ parts: [(segment: Segment, footprint: Footprint)]) {
    for node in graph.nodes {
      guard case .constant(.weight(let name)) = node.op else { continue }
      if graph.isReadWhole(node.id) {
        weights[name] = node.type.byteCount
      } else {
        tables[name] = (node.type.byteCount / max(node.type.shape[0], 1), node.type.byteCount)
      }
    }
    for (segment, footprint) in parts {
      ownByteCount += footprint.constantByteCount
      converted.merge(footprint.convertedWeights) { own, _ in own }
      arenas[segment.unit] = max(arenas[segment.unit] ?? 0, footprint.arenaByteCount)
    }
    let states = Set(graph.outputs.filter(\.isState).map(\.name))
    let values =
      graph.inputs.map { ($0.name, $0.type) }
      + graph.outputs.map { ($0.name, graph.nodes[$0.node].type) }
    for (name, type) in values where !states.contains(name) {
      bindings[name] = max(bindings[name] ?? 0, type.byteCount)
      guard name == "features" else { continue }
      featureRowByteCount = max(featureRowByteCount, type.byteCount / max(type.shape[0], 1))
    }
    let named = Set(graph.outputs.map(\.name))
    let crossing = parts.map(\.segment).flatMap { segment in
      segment.graph.outputs.filter { !named.contains($0.name) }
        .map { segment.graph.nodes[$0.node].type.byteCount }
    }
    largestCrossing = max(largestCrossing, crossing.reduce(0, +))
    guard parts.contains(where: { $0.segment.unit != .cpu }) else { return }
    largestKept = max(largestKept, graph.writtenByteCount)
  }

  /// Bytes of weights that are read whole, once each, as they are stored.
  var weightByteCount: Int { weights.values.reduce(0, +) }

  /// Bytes of weights, of constants kept in another format, of arenas and of values.
  var byteCount: Int { weightByteCount + convertedByteCount + arenaByteCount + bindingByteCount }
}

extension Graph {
  /// Bytes of the cache rows that a launch writes at most.
  fileprivate var writtenByteCount: Int {
    outputs.filter(\.isState).reduce(0) { sum, output in
      let update = nodes[output.node]
      guard update.op == .cacheUpdate else { return sum + update.type.byteCount }
      return sum + update.type.dtype.byteCount(of: nodes[update.inputs[1]].type.shape)
    }
  }

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
