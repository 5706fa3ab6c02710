extension JSONValue {
  /// How a document is laid out.
  public enum Layout: Sendable {
    /// One line without spaces.
    case compact
    /// Two spaces per level, one member a line.
    case indented
  }

  /// This value as JSON text.
  ///
  /// Numbers are written so that reading gives the same bits; those that JSON cannot hold
  /// (infinities, NaN) become `null`.
  ///
  /// - Parameters:
  ///   - layout: one line or indented.
  ///   - sortingKeys: members in byte order of their keys, else in their own order.
  /// - Returns: the text, without a line end.
  public func text(_ layout: Layout = .compact, sortingKeys: Bool = false) -> String {
    var writer = JSONWriter(isIndented: layout == .indented, isSorted: sortingKeys)
    writer.write(self, level: 0)
    return writer.text
  }
}

private struct JSONWriter {
  let isIndented: Bool
  let isSorted: Bool
  var text = ""

  mutating func write(_ value: JSONValue, level: Int) {
    switch value {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .number(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): write(value)
    case .array(let values):
      enclose("[", "]", values, level: level) { writer, value in
        writer.write(value, level: level + 1)
      }
    case .object(let object):
      var members = object.members
      if isSorted { members.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } }
      enclose("{", "}", members, level: level) { writer, member in
        writer.write(member.key)
        writer.text += writer.isIndented ? ": " : ":"
        writer.write(member.value, level: level + 1)
      }
    }
  }

  private mutating func enclose<Element>(
    _ open: String,
    _ close: String,
    _ elements: [Element],
    level: Int,
    _ body: (inout JSONWriter, Element) -> Void
  ) {
    text += open
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      breakLine(level + 1)
      body(&self, element)
    }
    if !elements.isEmpty { breakLine(level) }
    text += close
  }

  private mutating func breakLine(_ level: Int) {
    guard isIndented else { return }
    text += "\n" + String(repeating: "  ", count: level)
  }

  private mutating func write(_ string: String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
