import Devices
import Graph
import Models

/// What becomes of a placement on this machine with this model.
struct PlacementCheck {
  /// The placement that runs.
  private(set) var placement: Placement
  /// What the user should know.
  private(set) var warnings: [String] = []

  /// Replaces units that stand in for others and moves programs that their unit refuses.
  ///
  /// - Throws: where a unit is not available, or a program is refused and must not move.
  init(
    _ wanted: Placement,
    folder: ModelFolder,
    layout: ChunkLayout,
    registry: Registry,
    allowsFallback: Bool
  ) throws {
    placement = wanted
    if wanted.units.contains(.gpu), !registry.names.contains(.gpu) {
      placement = wanted.replacing(.gpu, with: .emulatedGPU)
      warnings.append("gpu: this build has no Vulkan unit, gpu:emulated stands in")
    }
    for unit in placement.units { _ = try registry.unit(unit) }
    try moveRefusedChunks(folder, layout, registry, allowsFallback)
  }

  private mutating func moveRefusedChunks(
    _ folder: ModelFolder,
    _ layout: ChunkLayout,
    _ registry: Registry,
    _ allowsFallback: Bool
  ) throws {
    for (index, range) in layout.ranges.enumerated() {
      for phase in Part.Phase.allCases {
        let part = Part.chunk(index + 1, phase)
        let unit = placement.unit(of: part)
        let profile = try registry.unit(unit).profile
        let isLast = index == layout.ranges.count - 1
        let shape = TextDecoder.ChunkShape(
          layers: range,
          tokens: 1,
          rows: .all,
          slidingCacheRows: 1,
          fullCacheRows: 1,
          includesHead: isLast && placement.unit(of: .head(phase)) == unit
        )
        let graph = try folder.model.text.chunk(shape, name: "\(part)", over: folder.weights)
        guard let reason = profile.limits.refusal(of: graph) else { continue }
        guard allowsFallback else {
          throw DeviceError.declined(unit: unit.name, node: "\(part)", reason: reason)
        }
        placement = placement.adding([Placement.Rule("\(phase.rawValue).chunk\(index + 1)", .cpu)])
        warnings.append("\(part): \(unit) takes only \(reason); it runs on the cpu")
      }
    }
  }
}
