/// Where the intermediate results of a segment lie in one arena, reused as lifetimes end.
public struct MemoryPlan: Hashable, Sendable {
  /// One value's place.
  public struct Placement: Hashable, Sendable {
    /// First byte in the arena.
    public let offset: Int
    /// Bytes taken, rounded up to the alignment.
    public let byteCount: Int
    /// Steps from the one that makes the value to the last that reads it.
    public let lifetime: ClosedRange<Int>
  }

  /// Places by node.
  public let placements: [Int: Placement]
  /// Bytes of the arena.
  public let byteCount: Int

  /// Bytes to which every offset is aligned.
  public static let alignment = 64

  /// Plans values given as (node, bytes, lifetime).
  ///
  /// Values are placed largest first, each at the lowest offset free during its lifetime.
  ///
  /// - Complexity: quadratic in the number of values.
  public init(_ values: [(node: Int, byteCount: Int, lifetime: ClosedRange<Int>)]) {
    var placed: [(node: Int, placement: Placement)] = []
    let order = values.sorted { ($1.byteCount, $0.node) < ($0.byteCount, $1.node) }
    for value in order {
      let size = (value.byteCount + Self.alignment - 1) / Self.alignment * Self.alignment
      let rivals = placed.filter { $0.placement.lifetime.overlaps(value.lifetime) }
        .map(\.placement).sorted { $0.offset < $1.offset }
      var offset = 0
      for rival in rivals {
        if rival.offset >= offset + size { break }
        offset = max(offset, rival.offset + rival.byteCount)
      }
      placed.append(
        (value.node, Placement(offset: offset, byteCount: size, lifetime: value.lifetime))
      )
    }
    placements = Dictionary(uniqueKeysWithValues: placed.map { ($0.node, $0.placement) })
    byteCount = placed.map { $0.placement.offset + $0.placement.byteCount }.max() ?? 0
  }
}
