/// Tokens by id and ids by token, both as bytes.
struct Vocabulary: Sendable {
  static let idLimit = 1 << 24

  private var text: [UInt8] = []
  private var ranges: [Range<UInt32>?] = []
  private var slots: [UInt32]
  private(set) var tokenCount = 0

  /// An empty vocabulary with room for `capacity` tokens.
  init(capacity: Int) {
    var size = 64
    while size < capacity * 2 { size *= 2 }
    slots = Array(repeating: 0, count: size)
    ranges.reserveCapacity(capacity)
  }

  /// The highest id plus one.
  var count: Int { ranges.count }

  /// Adds a token.
  ///
  /// - Returns: false where the token or the id is there already or the id is out of bounds.
  mutating func insert(_ token: [UInt8], id: Int) -> Bool {
    guard (0..<Self.idLimit).contains(id) else { return false }
    while ranges.count <= id { ranges.append(nil) }
    guard ranges[id] == nil else { return false }
    let isNew = token.withUnsafeBufferPointer { self.id(of: $0) == nil }
    guard isNew else { return false }
    let start = UInt32(truncatingIfNeeded: text.count)
    text.append(contentsOf: token)
    ranges[id] = start..<UInt32(truncatingIfNeeded: text.count)
    tokenCount += 1
    if tokenCount * 2 > slots.count {
      slots = Array(repeating: 0, count: slots.count * 2)
      for other in ranges.indices where ranges[other] != nil { place(other) }
    } else {
      place(id)
    }
    return true
  }

  /// The bytes of a token, nil where the id has none.
  func bytes(of id: Int) -> ArraySlice<UInt8>? {
    guard ranges.indices.contains(id), let range = ranges[id] else { return nil }
    return text[Int(range.lowerBound)..<Int(range.upperBound)]
  }

  /// The id of a token.
  func id(of token: UnsafeBufferPointer<UInt8>) -> Int? {
    var slot = Self.hash(token) & (slots.count - 1)
    while slots[slot] != 0 {
      let id = Int(slots[slot]) - 1
      if let range = ranges[id], range.count == token.count, holds(token, at: range) { return id }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private func holds(_ token: UnsafeBufferPointer<UInt8>, at range: Range<UInt32>) -> Bool {
    var position = Int(range.lowerBound)
    for byte in token {
      guard text[position] == byte else { return false }
      position += 1
    }
    return true
  }

  /// The id of a token.
  func id(of token: [UInt8]) -> Int? { token.withUnsafeBufferPointer { id(of: $0) } }

  private mutating func place(_ id: Int) {
    guard let token = bytes(of: id) else { return }
    let hash = token.withUnsafeBufferPointer(Self.hash)
    var slot = hash & (slots.count - 1)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = UInt32(truncatingIfNeeded: id + 1)
  }

  private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    return hasher.finalize()
  }
}
