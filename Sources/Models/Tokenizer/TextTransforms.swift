/// Replaces every occurrence of one byte string.
struct ByteReplacement: Hashable, Sendable {
  let pattern: [UInt8]
  let content: [UInt8]

  func apply(to bytes: [UInt8]) -> [UInt8] {
    guard let first = pattern.first, bytes.contains(first) else { return bytes }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count * 2)
    var position = 0
    while position < bytes.count {
      if bytes[position] == first, bytes[position...].starts(with: pattern) {
        result.append(contentsOf: content)
        position += pattern.count
      } else {
        result.append(bytes[position])
        position += 1
      }
    }
    return result
  }
}

/// What happens to a text before added tokens with `normalized` and merges are looked for.
enum Normalization: Hashable, Sendable {
  case replace(ByteReplacement)
  case prepend([UInt8])

  func apply(to bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .replace(let replacement): replacement.apply(to: bytes)
    case .prepend(let prefix): bytes.isEmpty ? bytes : prefix + bytes
    }
  }
}

/// Cuts a stretch at a byte string before byte-pair encoding.
struct PreSplit: Hashable, Sendable {
  enum Behavior: String, Hashable, Sendable, CaseIterable {
    case removed = "Removed"
    case isolated = "Isolated"
    case mergedWithPrevious = "MergedWithPrevious"
    case mergedWithNext = "MergedWithNext"
  }

  let pattern: [UInt8]
  let behavior: Behavior

  func apply(to bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    guard let first = pattern.first, bytes.contains(first) else { return [bytes] }
    var result: [ArraySlice<UInt8>] = []
    var start = bytes.startIndex
    var position = start
    func cut(_ end: Int) {
      if end > start { result.append(bytes[start..<end]) }
      start = end
    }
    while position < bytes.endIndex {
      guard bytes[position] == first, bytes[position...].starts(with: pattern) else {
        position += 1
        continue
      }
      let end = position + pattern.count
      switch behavior {
      case .removed:
        cut(position)
        start = end
      case .isolated:
        cut(position)
        cut(end)
      case .mergedWithPrevious: cut(end)
      case .mergedWithNext: cut(position)
      }
      position = end
    }
    cut(bytes.endIndex)
    return result
  }
}

/// Turns tokens back into text.
struct TokenDecoding: Hashable, Sendable {
  var replacements: [ByteReplacement] = []
  var hasByteFallback = false
  /// How many of one character are dropped at the start of the whole text.
  var strippedPrefix: [UInt8] = []
  var strippedCount = 0
}
