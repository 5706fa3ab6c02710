import Devices
import Graph
import Models

/// What becomes of a placement on this machine with this model.
struct PlacementCheck {
  /// The placement as asked for.
  let wanted: Placement
  /// The placement that runs.
  private(set) var placement: Placement
  /// Programs that a unit refuses, with the limit that refuses them.
  private(set) var refusals: [Part: [UnitID: String]] = [:]
  /// What the user should know.
  private(set) var warnings: [String] = []

  /// Moves programs that their unit refuses.
  ///
  /// - Throws: where a unit is not available, or a program is refused and must not move.
  init(
    _ asked: Placement,
    model: Gemma4,
    weights: any WeightSource,
    layout: ChunkLayout,
    registry: Registry,
    allowsFallback: Bool
  ) throws {
    wanted = asked
    placement = wanted
    for unit in placement.units { _ = try registry.unit(unit) }
    try checkKeys(model, weights, layout)
    try moveRefusedPrograms(model, weights, layout, registry, allowsFallback)
  }

  /// Refuses keys that name no chunk of the layout and globs that match no operation.
  private func checkKeys(
    _ model: Gemma4,
    _ weights: any WeightSource,
    _ layout: ChunkLayout
  ) throws {
    let globs = wanted.rules.filter(\.isGlob).map(\.key)
    let names = globs.isEmpty ? [] : try model.operationNames(over: weights)
    for rule in wanted.rules {
      let number = rule.key.split(separator: ".").last.flatMap { Int($0.dropFirst(5)) }
      if !rule.isGlob, rule.key.contains("chunk"), let number, number > layout.ranges.count {
        throw PlacementError.noSuchChunk(rule.key, chunks: layout.ranges.count)
      }
      if rule.isGlob, !names.contains(where: { Glob.matches(rule.key, $0) }) {
        throw PlacementError.matchesNothing(rule.key)
      }
    }
  }

  private mutating func moveRefusedPrograms(
    _ model: Gemma4,
    _ weights: any WeightSource,
    _ layout: ChunkLayout,
    _ registry: Registry,
    _ allowsFallback: Bool
  ) throws {
    let refused = try RefusedPrograms(
      placement,
      model: model,
      weights: weights,
      layout: layout,
      registry: registry
    )
    for entry in refused.entries {
      guard allowsFallback else {
        throw DeviceError.declined(
          unit: entry.unit.name,
          node: "\(entry.part)",
          reason: entry.reason
        )
      }
      refusals[entry.part, default: [:]][entry.unit] = entry.reason
    }
    placement = refused.placement
    warnings += EngineFit.refusals(refused.entries)
    guard let limits = try refused.decoderLimits() else { return }
    warnings.append(try EngineFit.advice(model, limits, over: weights))
  }
}

extension Gemma4 {
  /// Names of all operations that placements may pick by glob.
  func operationNames(over weights: any WeightSource) throws -> Set<String> {
    let shape = TextDecoder.ChunkShape(
      layers: configuration.text.layers.indices,
      tokens: 2,
      rows: .last,
      slidingCacheRows: 2,
      fullCacheRows: 2,
      includesHead: true
    )
    var graphs = [
      try text.embedding(tokens: 1, over: weights),
      try text.chunk(shape, name: "decoder", over: weights),
    ]
    if let vision {
      graphs.append(
        try vision.encoder(patches: vision.configuration.patchesPerToken, over: weights)
      )
    }
    if let audio { graphs.append(try audio.encoder(frames: 4, over: weights)) }
    let masked = try graphs.map { try $0.applying([AttentionMasking()]) }
    let written = try masked.map { try $0.applying([AttentionDecomposition()]) }
    return Set((graphs + masked + written).flatMap { $0.nodes.filter { !$0.isSource }.map(\.name) })
  }
}
