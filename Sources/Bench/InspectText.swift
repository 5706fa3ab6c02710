import Models

/// What a file or folder holds, as lines for people.
enum InspectText {
  /// The fields in order; files stand in lines of their own with their bytes.
  static func lines(_ fields: [(String, JSONValue)]) -> [String] {
    let sizes = fields.first { $0.0 == "fileBytes" }?.1.array ?? []
    return fields.flatMap { key, value -> [String] in
      let label = TimelineText.pad(key, 18)
      switch (key, value) {
      case ("fileBytes", _): return []
      case ("files", .array(let names)):
        let width = (names.map { plain($0).count }.max() ?? 0) + 2
        return zip(names, sizes).map { name, size in
          label + TimelineText.pad(plain(name), width) + TimelineText.left(plain(size), 12)
        }
      case (_, .array(let rows)) where rows.isEmpty: return [label + "none"]
      case (_, .array(let rows)) where rows.allSatisfy(isWord):
        return PlanText.wrapped(label, rows.map(plain).joined(separator: " "))
      case (_, .array(let rows)): return rows.map { label + plain($0) }
      default: return [label + plain(value)]
      }
    }
  }

  /// Whether a value is a number or a text without blanks.
  private static func isWord(_ value: JSONValue) -> Bool {
    value.integer != nil || value.string.map { !$0.contains(" ") } ?? false
  }

  /// A value without quotes and braces.
  private static func plain(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    case .array(let values): values.map(plain).joined(separator: " ")
    case .object(let object):
      object.members.map { "\($0.key) \(plain($0.value))" }.joined(separator: ", ")
    default: value.text(.compact, sortingKeys: false)
    }
  }
}
