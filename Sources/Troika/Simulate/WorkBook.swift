import Devices
import Graph
import Models

/// The work of a model's programs by the unit they are placed on, traced once each.
///
/// Not shared between threads.
final class WorkBook {
  let planned: PlannedModel
  let registry: Registry
  private var stores: [Placement: ProgramStore] = [:]
  private var known: [Entry: PlannedWork] = [:]
  private var traces: [ProgramStore.Key: Graph] = [:]
  private var memories: [Entry: Memory] = [:]

  /// A program where it is placed.
  struct Entry: Hashable {
    let key: ProgramStore.Key
    /// Where the program is placed: its unit, or all of the placement where it names operations.
    let unit: UnitID
    let placement: Placement?

    init(_ key: ProgramStore.Key, _ placement: Placement) {
      self.key = key
      unit = placement.unit(of: key.part)
      self.placement = placement.rules.contains(where: \.isGlob) ? placement : nil
    }
  }

  init(_ planned: PlannedModel, _ registry: Registry) {
    self.planned = planned
    self.registry = registry
  }

  /// The programs of a placement.
  func store(_ placement: Placement) -> ProgramStore {
    if let store = stores[placement] { return store }
    let store = ProgramStore(
      model: planned.model,
      weights: planned.weights,
      registry: registry,
      placement: placement
    )
    if stores.count > 64 { stores = [:] }
    stores[placement] = store
    return store
  }

  /// The work of a program under a placement.
  ///
  /// - Throws: where it cannot be traced, or a unit is not available.
  func work(_ key: ProgramStore.Key, _ placement: Placement) throws -> PlannedWork {
    let entry = Entry(key, placement)
    if let work = known[entry] { return work }
    let placed = try placed(key, placement)
    let work = PlannedWork(name: placed.name, unit: entry.unit, placed.graph, placed.segments)
    known[entry] = work
    return work
  }

  /// What plans say about a program's memory.
  ///
  /// - Throws: where it cannot be traced, or a unit is not available.
  func memory(_ key: ProgramStore.Key, _ placement: Placement) throws -> Memory {
    let entry = Entry(key, placement)
    if let memory = memories[entry] { return memory }
    let placed = try placed(key, placement)
    let memory = Memory(
      graph: placed.graph,
      parts: try placed.segments.map { ($0, try registry.unit($0.unit).footprint(of: $0)) }
    )
    memories[entry] = memory
    return memory
  }

  /// A program's graph, cut, with what each segment takes of memory.
  struct Memory {
    let graph: Graph
    let parts: [(segment: Segment, footprint: Footprint)]
  }

  private func placed(
    _ key: ProgramStore.Key,
    _ placement: Placement
  ) throws -> (name: String, graph: Graph, segments: [Segment]) {
    let store = store(placement)
    // Tracing does not depend on where a program is placed.
    let traced = try traces[key] ?? store.trace(key).0.applying(Graph.standardPasses)
    traces[key] = traced
    let placed = try store.place(traced, key.part)
    let segments = try placed.graph.segments { placed.units[$0.id] ?? .cpu }
    return (key.partName(traced), placed.graph, segments)
  }
}

extension ProgramStore.Key {
  /// The program's name by its part: `vision`, `chunk1.decode`, `chunk2.prefill512`.
  func partName(_ graph: Graph) -> String {
    switch self {
    case .vision, .audio, .embed, .head: "\(part)"
    case .chunk: graph.name
    }
  }

  /// The tower it is.
  var tower: Tower? {
    switch self {
    case .vision: .vision
    case .audio: .audio
    default: nil
    }
  }
}
