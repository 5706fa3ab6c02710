/// Why a tokenizer cannot be used or an id cannot be decoded.
public enum TokenizerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A part of the tokenizer is of a kind that is not implemented.
  case unsupported(file: String, field: String, expected: String, came: String)
  /// A token, merge or id contradicts another.
  case inconsistent(file: String, expected: String, came: String)
  /// An id beyond the vocabulary, or without a token.
  case noToken(id: Int, count: Int)

  /// One line that names the file.
  public var description: String {
    switch self {
    case .unsupported(let file, let field, let expected, let came):
      "\(file): field '\(field)': expected \(expected), came \(came.printable)"
    case .inconsistent(let file, let expected, let came):
      "\(file): expected \(expected), came \(came)"
    case .noToken(let id, let count):
      "token id \(id): expected an id of the vocabulary below \(count), came none"
    }
  }
}
