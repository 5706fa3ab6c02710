import Devices
import Graph
import Models

/// Which shapes the programs of a placement are compiled for.
struct CompiledShapes: Hashable, Sendable {
  /// The vision tower's.
  let vision: EncoderShapes
  /// The audio tower's.
  let audio: EncoderShapes
  /// Token counts of the decoder's programs; empty where any count will do.
  let tokens: [Int]

  /// Tokens of a prefill batch at most.
  static func batch(_ prefill: [Int], context: Int) -> Int { min(prefill.max() ?? 1, context) }

  /// Shapes for a placement.
  ///
  /// - Parameters:
  ///   - placement: where each part runs.
  ///   - layout: the decoder's programs.
  ///   - registry: the units.
  ///   - prefill: token counts of prefill programs.
  ///   - batch: tokens of a prefill batch at most.
  /// - Throws: where a unit is not available.
  init(
    _ placement: Placement,
    layout: ChunkLayout,
    registry: Registry,
    prefill: [Int],
    batch: Int
  ) throws {
    func isFixed(_ part: Part) throws -> Bool {
      let units = placement.globUnits.union([placement.unit(of: part)])
      return try units.contains { try registry.unit($0).profile.needsFixedShapes }
    }
    vision = try isFixed(.vision) ? .bucketed : .exact
    audio = try isFixed(.audio) ? .bucketed : .exact
    let parts = layout.ranges.indices.flatMap { index in
      Part.Phase.allCases.map { Part.chunk(index + 1, $0) }
    }
    let needsCounts = try parts.contains { try isFixed($0) }
    let counts = Set([1] + prefill).filter { $0 < batch }
    tokens = needsCounts ? counts.sorted() + [batch] : []
  }
}
