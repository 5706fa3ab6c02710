/// Byte-pair encoding: scalars to ids, then merges in order of rank, leftmost first.
struct BytePairEncoder: Sendable {
  let vocabulary: Vocabulary
  let merges: MergeTable
  /// The ids of `<0x00>`…`<0xFF>`, nil without byte fallback.
  let byteIDs: [Int?]?
  let unknownID: Int?
  let fusesUnknown: Bool
  let ignoresMerges: Bool

  /// Appends the ids of one stretch of valid UTF-8.
  ///
  /// - Complexity: O(n log n) in the stretch.
  func encode(_ bytes: UnsafeBufferPointer<UInt8>, into ids: inout [Int]) {
    if ignoresMerges, let whole = vocabulary.id(of: bytes) {
      ids.append(whole)
      return
    }
    var symbols = symbols(of: bytes)
    guard symbols.count > 1 else {
      ids.append(contentsOf: symbols.map { Int($0) })
      return
    }
    let count = merge(&symbols)
    ids.append(contentsOf: symbols[..<count].lazy.map { Int($0) })
  }

  private func symbols(of bytes: UnsafeBufferPointer<UInt8>) -> [UInt32] {
    var symbols: [UInt32] = []
    symbols.reserveCapacity(bytes.count)
    var hasPendingUnknown = false
    func flush() {
      if hasPendingUnknown, let unknownID { symbols.append(UInt32(unknownID)) }
      hasPendingUnknown = false
    }
    var start = 0
    while start < bytes.count {
      var end = start + 1
      while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
      let scalar = UnsafeBufferPointer(rebasing: bytes[start..<end])
      start = end
      if let id = vocabulary.id(of: scalar) {
        flush()
        symbols.append(UInt32(id))
      } else if let fallback = fallback(scalar) {
        symbols.append(contentsOf: fallback)
      } else {
        if !fusesUnknown { flush() }
        hasPendingUnknown = true
      }
    }
    flush()
    return symbols
  }

  private func fallback(_ scalar: UnsafeBufferPointer<UInt8>) -> [UInt32]? {
    guard let byteIDs else { return nil }
    var result: [UInt32] = []
    for byte in scalar {
      guard let id = byteIDs[Int(byte)] else { return nil }
      result.append(UInt32(id))
    }
    return result
  }

  /// Merges in place.
  ///
  /// - Returns: how many symbols are left, at the front.
  private func merge(_ symbols: inout [UInt32]) -> Int {
    let count = symbols.count
    var links = SymbolLinks(count: count)
    var ranks = [UInt32](repeating: MergeTable.none, count: count)
    var queue = MergeQueue()
    for position in 0..<count - 1 {
      ranks[position] = merges.rank(symbols[position], symbols[position + 1])
      if ranks[position] != MergeTable.none {
        queue.append(rank: ranks[position], position: position)
      }
    }
    queue.order()
    while let (rank, position) = queue.pop() {
      guard ranks[position] == rank else { continue }
      symbols[position] = merges.results[Int(rank)]
      let swallowed = links.next(position)
      ranks[swallowed] = MergeTable.none
      links.remove(swallowed)
      for first in [links.previous(position), position] where first >= 0 {
        let second = links.next(first)
        ranks[first] =
          second < count ? merges.rank(symbols[first], symbols[second]) : MergeTable.none
        if ranks[first] != MergeTable.none { queue.push(rank: ranks[first], position: first) }
      }
    }
    var kept = 0
    var position = 0
    while position < count {
      symbols[kept] = symbols[position]
      kept += 1
      position = links.next(position)
    }
    return kept
  }
}

/// A doubly linked list over positions; -1 and `count` are the ends.
private struct SymbolLinks {
  private var nexts: [Int32]
  private var previouses: [Int32]

  init(count: Int) {
    nexts = (0..<count).map { Int32(truncatingIfNeeded: $0 + 1) }
    previouses = (0..<count).map { Int32(truncatingIfNeeded: $0 - 1) }
  }

  func next(_ position: Int) -> Int { Int(nexts[position]) }
  func previous(_ position: Int) -> Int { Int(previouses[position]) }

  mutating func remove(_ position: Int) {
    let before = previous(position)
    let after = next(position)
    if before >= 0 { nexts[before] = Int32(truncatingIfNeeded: after) }
    if after < nexts.count { previouses[after] = Int32(truncatingIfNeeded: before) }
  }
}

/// A binary heap of rank and position, smallest first.
private struct MergeQueue {
  private var items: [UInt64] = []

  mutating func append(rank: UInt32, position: Int) {
    items.append(UInt64(rank) << 32 | UInt64(position))
  }

  mutating func order() {
    for start in stride(from: items.count / 2 - 1, through: 0, by: -1) { sink(start) }
  }

  mutating func push(rank: UInt32, position: Int) {
    append(rank: rank, position: position)
    var child = items.count - 1
    let item = items[child]
    while child > 0 {
      let parent = (child - 1) / 2
      guard items[parent] > item else { break }
      items[child] = items[parent]
      child = parent
    }
    items[child] = item
  }

  mutating func pop() -> (rank: UInt32, position: Int)? {
    guard let least = items.first, let last = items.popLast() else { return nil }
    if !items.isEmpty {
      items[0] = last
      sink(0)
    }
    return (UInt32(least >> 32), Int(least & 0xFFFF_FFFF))
  }

  private mutating func sink(_ start: Int) {
    let item = items[start]
    var parent = start
    while true {
      var child = 2 * parent + 1
      guard child < items.count else { break }
      if child + 1 < items.count, items[child + 1] < items[child] { child += 1 }
      guard items[child] < item else { break }
      items[parent] = items[child]
      parent = child
    }
    items[parent] = item
  }
}
