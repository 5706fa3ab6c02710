/// The merges of a BPE model: pairs of ids to rank and result.
struct MergeTable: Sendable {
  /// Stands for "no merge".
  static let none = UInt32.max

  private var keys: [UInt64]
  private var ranks: [UInt32]
  /// The id each rank makes.
  private(set) var results: [UInt32] = []

  /// An empty table with room for `capacity` merges.
  init(capacity: Int) {
    var size = 64
    while size < capacity * 2 { size *= 2 }
    keys = Array(repeating: .max, count: size)
    ranks = Array(repeating: Self.none, count: size)
    results.reserveCapacity(capacity)
  }

  /// Appends the merge of the next rank; a pair named twice keeps its later rank.
  mutating func append(_ left: Int, _ right: Int, makes result: Int) {
    let key = UInt64(left) << 32 | UInt64(right)
    var slot = Self.slot(key, keys.count)
    while keys[slot] != .max, keys[slot] != key { slot = (slot + 1) & (keys.count - 1) }
    keys[slot] = key
    ranks[slot] = UInt32(truncatingIfNeeded: results.count)
    results.append(UInt32(truncatingIfNeeded: result))
  }

  /// The rank of a pair, `none` where it does not merge.
  func rank(_ left: UInt32, _ right: UInt32) -> UInt32 {
    let key = UInt64(left) << 32 | UInt64(right)
    var slot = Self.slot(key, keys.count)
    while keys[slot] != .max {
      if keys[slot] == key { return ranks[slot] }
      slot = (slot + 1) & (keys.count - 1)
    }
    return Self.none
  }

  private static func slot(_ key: UInt64, _ count: Int) -> Int {
    var value = key &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 32
    value = value &* 0xD6E8_FEB8_6659_FD93
    return Int(truncatingIfNeeded: value >> 24) & (count - 1)
  }
}
