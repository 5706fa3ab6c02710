extension JSONReader {
  /// The string that starts at `offset`, which is a quote.
  mutating func string() throws(JSONError) -> String {
    offset += 1
    let start = offset
    var isASCII = true
    while offset < bytes.count {
      let byte = bytes[offset]
      if byte == UInt8(ascii: "\"") {
        let text = UnsafeBufferPointer(rebasing: bytes[start..<offset])
        offset += 1
        return isASCII ? String(decoding: text, as: UTF8.self) : try validated(text, at: start)
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      guard byte >= 0x20 else { throw unexpected("an escaped control character") }
      if byte >= 0x80 { isASCII = false }
      offset += 1
    }
    throw unexpected("'\"'")
  }

  private func validated(
    _ text: UnsafeBufferPointer<UInt8>,
    at start: Int
  ) throws(JSONError) -> String {
    guard let result = String(validating: text, as: UTF8.self) else {
      throw .malformed(
        subject: subject,
        offset: start,
        expected: "valid UTF-8",
        came: "other bytes"
      )
    }
    return result
  }

  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var text = Array(bytes[start..<offset])
    while offset < bytes.count {
      let byte = bytes[offset]
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        guard let result = String(validating: text, as: UTF8.self) else {
          throw .malformed(
            subject: subject,
            offset: start,
            expected: "valid UTF-8",
            came: "other bytes"
          )
        }
        return result
      case UInt8(ascii: "\\"):
        offset += 1
        try escape(into: &text)
      case 0..<0x20: throw unexpected("an escaped control character")
      default:
        text.append(byte)
        offset += 1
      }
    }
    throw unexpected("'\"'")
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
    guard offset < bytes.count else { throw unexpected("an escape") }
    let byte = bytes[offset]
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      offset += 1
      text.append(contentsOf: String(try scalar()).utf8)
      return
    default: throw unexpected("an escape")
    }
    offset += 1
  }

  private mutating func scalar() throws(JSONError) -> Character {
    let start = offset
    var code = try hexUnit()
    if 0xD800..<0xDC00 ~= code {
      guard bytes.count - offset >= 2, bytes[offset] == UInt8(ascii: "\\"),
        bytes[offset + 1] == UInt8(ascii: "u")
      else { throw unexpected("the second half of a surrogate pair") }
      offset += 2
      let low = try hexUnit()
      guard 0xDC00..<0xE000 ~= low else {
        throw .malformed(
          subject: subject,
          offset: start,
          expected: "a surrogate pair",
          came: "an unpaired surrogate"
        )
      }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else {
      throw .malformed(
        subject: subject,
        offset: start,
        expected: "a surrogate pair",
        came: "an unpaired surrogate"
      )
    }
    return Character(scalar)
  }

  private mutating func hexUnit() throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard offset < bytes.count, let digit = Self.hexDigit(bytes[offset]) else {
        throw unexpected("four hexadecimal digits")
      }
      code = code << 4 + digit
      offset += 1
    }
    return code
  }

  private static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 48
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte) - 87
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte) - 55
    default: nil
    }
  }
}

extension JSONValue {
  /// Reads one JSON text.
  ///
  /// - Parameters:
  ///   - bytes: UTF-8 text, only read during the call.
  ///   - subject: what error messages call the text, a file's name as a rule.
  /// - Throws: where the text is not strict JSON.
  public init(
    parsing bytes: UnsafeRawBufferPointer,
    subject: String
  ) throws(JSONError) {
    var reader = JSONReader(bytes.bindMemory(to: UInt8.self), subject: subject)
    self = try reader.document()
  }

  /// Reads one JSON text.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - subject: what error messages call the text.
  /// - Throws: where the text is not strict JSON.
  public init(parsing text: String, subject: String = "JSON") throws(JSONError) {
    self = try Self.parse(Array(text.utf8), subject: subject)
  }

  static func parse(_ bytes: [UInt8], subject: String) throws(JSONError) -> JSONValue {
    let result = bytes.withUnsafeBytes { raw in
      Result { () throws(JSONError) in try JSONValue(parsing: raw, subject: subject) }
    }
    return try result.get()
  }

  /// Reads a JSON file.
  ///
  /// - Parameter path: the file; its last component names it in error messages.
  /// - Throws: `FileError` where it cannot be read, `JSONError` where it is not strict JSON.
  public init(file path: String) throws {
    let file = try MappedFile(path)
    self = try file.withBytes { try JSONValue(parsing: $0, subject: file.name) }
  }
}
