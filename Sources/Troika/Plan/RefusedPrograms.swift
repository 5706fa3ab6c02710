import Devices
import Graph
import Models

/// The programs of a placement that the limits of their units refuse.
struct RefusedPrograms {
  /// One program that a unit refuses.
  struct Entry: Hashable {
    let part: Part
    let unit: UnitID
    /// The limit with its source, and what the program has.
    let reason: String
  }

  /// Programs in the order in which they run.
  private(set) var entries: [Entry] = []
  /// The placement without them: what a unit refuses of a part runs on the CPU.
  private(set) var placement: Placement

  private let model: Gemma4
  private let weights: any WeightSource
  private let layout: ChunkLayout
  private let registry: Registry

  /// Looks at every part, in shapes of one token: limits are on weights and layers.
  ///
  /// - Throws: where a unit is not available or a tensor is absent.
  init(
    _ placement: Placement,
    model: Gemma4,
    weights: any WeightSource,
    layout: ChunkLayout,
    registry: Registry
  ) throws {
    self.placement = placement
    self.model = model
    self.weights = weights
    self.layout = layout
    self.registry = registry
    let limited = try placement.units.filter {
      try registry.unit($0).profile.limits != ProgramLimits()
    }
    guard !limited.isEmpty else { return }
    if let vision = model.vision?.configuration {
      try add(.vision(patches: vision.patchesPerToken, taps: []), limited)
    }
    if model.audio != nil { try add(.audio(frames: 4, taps: []), limited) }
    try add(.embed(tokens: 1), limited)
    for index in layout.ranges.indices {
      for phase in Part.Phase.allCases { try add(chunk(index, phase), limited) }
    }
    for phase in Part.Phase.allCases where !joinsHead(phase) {
      try add(.head(rows: 1, phase, taps: []), limited)
    }
  }

  /// The limits of a unit that refuses a part of the decoder; nil where none does.
  func decoderLimits() throws -> ProgramLimits? {
    let entry = entries.first { if case .chunk = $0.part { true } else { false } }
    return try entry.map { try registry.unit($0.unit).profile.limits }
  }

  private func joinsHead(_ phase: Part.Phase) -> Bool {
    placement.joinsHead(toChunk: layout.ranges.count, phase)
  }

  private func chunk(_ index: Int, _ phase: Part.Phase) -> ProgramStore.Key {
    let shape = TextDecoder.ChunkShape(
      layers: layout.ranges[index],
      tokens: 1,
      rows: .all,
      slidingCacheRows: 1,
      fullCacheRows: 1,
      includesHead: index == layout.ranges.count - 1 && joinsHead(phase)
    )
    return .chunk(index + 1, shape, phase, taps: [])
  }

  private mutating func add(_ key: ProgramStore.Key, _ limited: Set<UnitID>) throws {
    let store = ProgramStore(
      model: model,
      weights: weights,
      registry: registry,
      placement: placement
    )
    let (graph, part) = try store.trace(key)
    let wanted = placement.globUnits.union([placement.unit(of: part)])
    guard !wanted.isDisjoint(with: limited) else { return }
    let placed = try store.place(graph.applying(Graph.standardPasses), part)
    for segment in try placed.graph.segments(placing: { placed.units[$0.id] ?? .cpu })
    where limited.contains(segment.unit) && !placement.isRefused(part, by: segment.unit) {
      let limits = try registry.unit(segment.unit).profile.limits
      guard let reason = limits.refusal(of: segment.graph) else { continue }
      entries.append(Entry(part: part, unit: segment.unit, reason: reason))
      placement = placement.refusing(part, by: segment.unit)
    }
  }
}
