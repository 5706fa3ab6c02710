/// Reads one JSON text (RFC 8259) from bytes.
///
/// Strict: UTF-8 without errors, paired surrogates, no comments, no trailing commas, no duplicate
/// keys, at most `depthLimit` nested values, finite numbers. A byte order mark is refused.
struct JSONReader {
  static let depthLimit = 128

  let bytes: UnsafeBufferPointer<UInt8>
  let subject: String
  var offset = 0
  private var depth = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>, subject: String) {
    self.bytes = bytes
    self.subject = subject
  }

  /// The whole text as one value.
  mutating func document() throws(JSONError) -> JSONValue {
    let result = try value()
    skipSpace()
    guard offset == bytes.count else { throw unexpected("end of text") }
    return result
  }

  private mutating func value() throws(JSONError) -> JSONValue {
    skipSpace()
    guard offset < bytes.count else { throw unexpected("a value") }
    switch bytes[offset] {
    case UInt8(ascii: "{"): return try nested { (reader) throws(JSONError) in try reader.object() }
    case UInt8(ascii: "["): return try nested { (reader) throws(JSONError) in try reader.array() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw unexpected("a value")
    }
  }

  private mutating func nested(
    _ body: (inout JSONReader) throws(JSONError) -> JSONValue
  ) throws(JSONError) -> JSONValue {
    guard depth < Self.depthLimit else {
      throw .malformed(
        subject: subject,
        offset: offset,
        expected: "at most \(Self.depthLimit) nested values",
        came: "more"
      )
    }
    depth += 1
    defer { depth -= 1 }
    offset += 1
    return try body(&self)
  }

  private mutating func object() throws(JSONError) -> JSONValue {
    var object = JSONObject()
    if take(UInt8(ascii: "}")) { return .object(object) }
    while true {
      skipSpace()
      let start = offset
      guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else {
        throw unexpected("a key")
      }
      let key = try string()
      guard take(UInt8(ascii: ":")) else { throw unexpected("':'") }
      guard object.insert(key, try value()) else {
        throw .duplicateKey(subject: subject, offset: start, key: key)
      }
      if take(UInt8(ascii: ",")) { continue }
      guard take(UInt8(ascii: "}")) else { throw unexpected("',' or '}'") }
      return .object(object)
    }
  }

  private mutating func array() throws(JSONError) -> JSONValue {
    var values: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return .array(values) }
    values.reserveCapacity(2)
    while true {
      values.append(try value())
      if take(UInt8(ascii: ",")) { continue }
      guard take(UInt8(ascii: "]")) else { throw unexpected("',' or ']'") }
      return .array(values)
    }
  }

  private mutating func word(
    _ word: StaticString,
    _ value: JSONValue
  ) throws(JSONError) -> JSONValue {
    let count = word.utf8CodeUnitCount
    guard bytes.count - offset >= count else { throw unexpected("'\(word)'") }
    for index in 0..<count where bytes[offset + index] != word.utf8Start[index] {
      throw unexpected("'\(word)'")
    }
    offset += count
    return value
  }

  private mutating func skipSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard offset < bytes.count, bytes[offset] == byte else { return false }
    offset += 1
    return true
  }

  func unexpected(_ expected: String) -> JSONError {
    let came: String
    if offset >= bytes.count {
      came = "the end"
    } else {
      let byte = bytes[offset]
      let isPrintable = (0x20..<0x7F).contains(byte)
      came = isPrintable ? "'\(Character(Unicode.Scalar(byte)))'" : "byte \(byte)"
    }
    return .malformed(subject: subject, offset: offset, expected: expected, came: came)
  }
}

extension JSONReader {
  fileprivate mutating func number() throws(JSONError) -> JSONValue {
    let start = offset
    let isNegative = bytes[offset] == UInt8(ascii: "-")
    if isNegative { offset += 1 }
    let firstDigit = offset
    try digits()
    if bytes[firstDigit] == UInt8(ascii: "0"), offset > firstDigit + 1 {
      offset = firstDigit + 1
      throw unexpected("a number without leading zeros")
    }
    var isWhole = true
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      isWhole = false
      offset += 1
      try digits()
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      offset += 1
      if offset < bytes.count,
        bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-")
      {
        offset += 1
      }
      try digits()
    }
    if isWhole, let whole = wholeNumber(from: firstDigit, isNegative: isNegative) {
      return .integer(whole)
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    guard let value = Double(text), value.isFinite else {
      throw .malformed(
        subject: subject,
        offset: start,
        expected: "a finite number",
        came: text.printable
      )
    }
    return .number(value)
  }

  private mutating func digits() throws(JSONError) {
    let start = offset
    while offset < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) {
      offset += 1
    }
    guard offset > start else { throw unexpected("a digit") }
  }

  private func wholeNumber(from firstDigit: Int, isNegative: Bool) -> Int? {
    var result = 0
    for byte in bytes[firstDigit..<offset] {
      let digit = Int(byte) - 48
      let (product, overflow) = result.multipliedReportingOverflow(by: 10)
      let (sum, carry) =
        isNegative
        ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
      guard !overflow, !carry else { return nil }
      result = sum
    }
    return isNegative && result == 0 ? nil : result
  }
}
