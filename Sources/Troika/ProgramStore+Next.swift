import Devices
import Graph

extension ProgramStore {
  /// Units that may take over what others fail, in order: those that the placement names, as it names
  /// them, and the processor last.
  ///
  /// Units for tests take over nothing, nor does a Vulkan device that computes on the processor.
  var successors: [UnitID] {
    var units: [UnitID] = []
    for unit in placement.rules.map(\.unit) + [placement.base]
    where ![.cpu, .reference, .null].contains(unit) && !units.contains(unit) {
      units.append(unit)
    }
    return units.filter { !registry.isSoftware($0) } + [.cpu]
  }

  /// The unit that runs a part in place of those that failed it: the first that accepts it.
  ///
  /// A unit accepts a program whose limits it keeps and of whose operations it runs at least half; one
  /// that stores f16 only caches of f16.
  func next(_ traced: Graph, _ part: Part, avoiding avoided: Set<UnitID>) -> UnitID {
    successors.first { unit in
      guard unit != .cpu else { return true }
      let isFree = !avoided.contains(unit) && !placement.isRefused(part, by: unit)
      return isFree && accepts(traced, part, avoided, unit)
    } ?? .cpu
  }

  /// The unit that runs a program's part next.
  ///
  /// - Throws: where the program cannot be traced.
  func next(_ key: Key, avoiding avoided: Set<UnitID>) throws -> UnitID {
    let (graph, part) = try trace(key)
    return next(try graph.applying(Graph.standardPasses), part, avoiding: avoided)
  }

  private func accepts(
    _ traced: Graph,
    _ part: Part,
    _ avoided: Set<UnitID>,
    _ unit: UnitID
  ) -> Bool {
    guard let profile = try? registry.unit(unit).profile,
      let placed = try? place(traced, part, on: unit, inPlaceOf: avoided),
      let segments = try? placed.graph.segments(placing: { placed.units[$0.id] ?? .cpu })
    else { return false }
    let stores = placed.graph.outputs.filter(\.isState).map {
      placed.graph.nodes[$0.node].type.dtype
    }
    if profile.numerics.storage == .f16, stores.contains(.f32) { return false }
    let operations = placed.graph.nodes.filter { placed.graph.isOperation($0) }
    let kept = operations.count { placed.units[$0.id] == unit }
    return kept * 2 >= operations.count
      && segments.allSatisfy { $0.unit != unit || profile.limits.refusal(of: $0.graph) == nil }
  }
}
