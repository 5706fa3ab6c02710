import Devices
import Graph
import Models

/// What becomes of a placement on this machine with this model.
struct PlacementCheck {
  /// The placement as asked for.
  let wanted: Placement
  /// The placement that runs.
  private(set) var placement: Placement
  /// Programs that their unit refuses, with the limit that refuses them.
  private(set) var refusals: [Part: String] = [:]
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
    try moveRefusedChunks(model, weights, layout, registry, allowsFallback)
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

  private mutating func moveRefusedChunks(
    _ model: Gemma4,
    _ weights: any WeightSource,
    _ layout: ChunkLayout,
    _ registry: Registry,
    _ allowsFallback: Bool
  ) throws {
    var limits: ProgramLimits?
    for (index, range) in layout.ranges.enumerated() {
      for phase in Part.Phase.allCases {
        let part = Part.chunk(index + 1, phase)
        let unit = placement.unit(of: part)
        let profile = try registry.unit(unit).profile
        guard profile.limits != ProgramLimits() else { continue }
        let isLast = index == layout.ranges.count - 1
        let shape = TextDecoder.ChunkShape(
          layers: range,
          tokens: 1,
          rows: .all,
          slidingCacheRows: 1,
          fullCacheRows: 1,
          includesHead: isLast && placement.unit(of: .head(phase)) == unit
        )
        let graph = try model.text.chunk(shape, name: "\(part)", over: weights)
        guard let reason = profile.limits.refusal(of: graph) else { continue }
        guard allowsFallback else {
          throw DeviceError.declined(unit: unit.name, node: "\(part)", reason: reason)
        }
        placement = placement.adding([Placement.Rule("\(phase.rawValue).chunk\(index + 1)", .cpu)])
        refusals[part] = reason
        warnings.append("\(part): \(unit) takes only \(reason); it runs on the cpu")
        limits = profile.limits
      }
    }
    guard let limits else { return }
    let fit = try EngineFit.layout(model, limits, over: weights)
    let ends = fit?.ranges.map { String($0.upperBound) }.joined(separator: ",")
    warnings.append(
      ends.map { "chunks: \($0) fits" } ?? "chunks: no cut fits, a layer is too large"
    )
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
