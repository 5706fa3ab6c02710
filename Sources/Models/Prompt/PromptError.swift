/// Why a conversation cannot become a prompt.
public enum PromptError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A text has more placeholders than there are media.
  case tooManyPlaceholders(kind: MediaKind, placeholders: Int, media: Int)
  /// A conversation without a turn.
  case noMessages
  /// The turn of standing instructions holds a medium.
  case mediumInSystemTurn(kind: MediaKind)
  /// The prompt places a medium whose size in tokens was not given.
  case unknownMedium(Medium)
  /// The configuration names no token for this.
  case noMediaToken(file: String, field: String)
  /// The tokenizer has no such token.
  case missingToken(file: String, token: String)

  /// One line that names the subject.
  public var description: String {
    switch self {
    case .tooManyPlaceholders(let kind, let placeholders, let media):
      "prompt: expected at most \(media) \(kind.placeholder), came \(placeholders)"
    case .noMessages: "conversation: expected at least one turn, came none"
    case .mediumInSystemTurn(let kind):
      "system turn: expected text alone, came \(kind.placeholder)"
    case .unknownMedium(let medium):
      "prompt: expected the token count of \(medium.kind) \(medium.index), came nothing"
    case .noMediaToken(let file, let field):
      "\(file): field '\(field)': expected a token id, came nothing"
    case .missingToken(let file, let token):
      "\(file): expected token '\(token.printable)', came nothing"
    }
  }
}
