/// Why a JSON text or one of its fields cannot be used.
public enum JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is not JSON: what was expected at a byte offset and what stands there.
  case malformed(subject: String, offset: Int, expected: String, came: String)
  /// A key occurs twice in one object.
  case duplicateKey(subject: String, offset: Int, key: String)
  /// A field is absent or has another kind or value.
  case field(subject: String, path: String, expected: String, came: String)

  /// One line that names the file.
  public var description: String {
    switch self {
    case .malformed(let subject, let offset, let expected, let came):
      "\(subject): expected \(expected) at byte \(offset), came \(came)"
    case .duplicateKey(let subject, let offset, let key):
      "\(subject): expected distinct keys, came '\(key.printable)' again at byte \(offset)"
    case .field(let subject, let path, let expected, let came):
      "\(subject): field '\(path.printable)': expected \(expected), came \(came)"
    }
  }
}
