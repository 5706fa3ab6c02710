/// Members of a JSON object: ordered, with constant-time lookup.
///
/// Keys are compared byte by byte: two spellings of one accented letter are two keys.
public struct JSONObject: Sendable {
  /// One key with its value.
  public struct Member: Hashable, Sendable {
    /// The name.
    public let key: String
    /// What stands there.
    public var value: JSONValue
  }

  /// The members in order.
  public private(set) var members: [Member] = []
  /// Open addressing over `members`, position + 1, 0 where free; empty for few members.
  private var slots: [UInt32] = []
  private static let scanLimit = 12

  /// An object without members.
  public init() {}

  /// The number of members.
  public var count: Int { members.count }

  /// The keys in order.
  public var keys: [String] { members.map(\.key) }

  /// The value of a key.
  ///
  /// Setting an absent key appends it, setting nil removes it.
  public subscript(key: String) -> JSONValue? {
    get { position(of: key).map { members[$0].value } }
    set {
      switch (position(of: key), newValue) {
      case (let position?, let value?): members[position].value = value
      case (let position?, nil):
        members.remove(at: position)
        rebuild()
      case (nil, let value?): append(key, value)
      case (nil, nil): break
      }
    }
  }

  /// Appends a member unless the key is there already.
  ///
  /// - Returns: whether the member was new.
  mutating func insert(_ key: String, _ value: JSONValue) -> Bool {
    guard position(of: key) == nil else { return false }
    append(key, value)
    return true
  }

  private mutating func append(_ key: String, _ value: JSONValue) {
    members.append(Member(key: key, value: value))
    guard members.count > Self.scanLimit else { return }
    if members.count * 2 > slots.count {
      rebuild()
    } else {
      place(members.count - 1)
    }
  }

  private mutating func rebuild() {
    guard members.count > Self.scanLimit else {
      slots = []
      return
    }
    var capacity = 64
    while capacity < members.count * 3 { capacity *= 2 }
    slots = Array(repeating: 0, count: capacity)
    for position in members.indices { place(position) }
  }

  private mutating func place(_ position: Int) {
    var slot = members[position].key.byteHash & (slots.count - 1)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = UInt32(truncatingIfNeeded: position + 1)
  }

  private func position(of key: String) -> Int? {
    if slots.isEmpty {
      return members.firstIndex { $0.key.hasSameBytes(as: key) }
    }
    var slot = key.byteHash & (slots.count - 1)
    while slots[slot] != 0 {
      let position = Int(slots[slot]) - 1
      if members[position].key.hasSameBytes(as: key) { return position }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }
}

extension JSONObject: Hashable {
  /// Same members in the same order.
  public static func == (left: Self, right: Self) -> Bool { left.members == right.members }

  /// Hashes the members.
  public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension String {
  /// A hash of the UTF-8 bytes; strings that are only canonically equivalent differ.
  var byteHash: Int {
    var hasher = Hasher()
    let done: Void? = utf8.withContiguousStorageIfAvailable {
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    if done == nil { for byte in utf8 { hasher.combine(byte) } }
    return hasher.finalize()
  }

  /// Appends the UTF-8 bytes to an array.
  func appendUTF8(to bytes: inout [UInt8]) {
    let done: Void? = utf8.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
    if done == nil { bytes.append(contentsOf: utf8) }
  }

  /// Whether both have the same UTF-8 bytes.
  func hasSameBytes(as other: String) -> Bool {
    let mine = utf8
    let theirs = other.utf8
    guard mine.count == theirs.count else { return false }
    let fast = mine.withContiguousStorageIfAvailable { left in
      theirs.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return (fast ?? nil) ?? mine.elementsEqual(theirs)
  }

  /// This text made safe for one line of an error message: control characters escaped, cut at 80.
  var printable: String { printable(80) }

  /// A path made safe for one line: only one that no system takes is cut.
  var printablePath: String { printable(4096) }

  private func printable(_ limit: Int) -> String {
    var result = ""
    var count = 0
    for scalar in unicodeScalars {
      if count >= limit { return result + "…" }
      count += 1
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .format:
        result += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
