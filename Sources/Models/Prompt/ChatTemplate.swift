/// Which newlines a model's chat template puts around images and videos.
public enum MediaStyle: String, Hashable, Sendable, CaseIterable {
  /// One newline behind.
  case plain
  /// Two newlines on both sides.
  case spaced
  /// None.
  case bare

  var before: String { self == .spaced ? "\n\n" : "" }

  var after: String {
    switch self {
    case .plain: "\n"
    case .spaced: "\n\n"
    case .bare: ""
    }
  }
}

/// A piece of a prompt before it becomes ids.
public enum PromptPiece: Hashable, Sendable {
  /// A token by its name.
  case special(String)
  /// Text; `parseSpecial` says whether special tokens written in it count as such.
  case text(String, parseSpecial: Bool)
  /// The place of a medium.
  case medium(Medium)
}

/// Gemma 4's chat format.
///
/// A turn is `<|turn>ROLE\n`, its content and `<turn|>\n`. Texts are trimmed. A first system or
/// developer message becomes the system turn, which thinking opens with `<|think|>\n`, making one
/// where there is none. Thoughts of earlier model turns are left out.
public struct ChatTemplate: Hashable, Sendable {
  /// Newlines around images and videos.
  public var mediaStyle: MediaStyle
  /// Whether the model is asked to think.
  public var thinking: Bool
  /// Whether special tokens in messages count as such, in place of being plain text.
  public var isRaw: Bool
  /// Whether the prompt ends with the opening of the model's turn.
  public var addsGenerationPrompt: Bool

  /// A template with its options.
  public init(
    mediaStyle: MediaStyle = .plain,
    thinking: Bool = false,
    isRaw: Bool = false,
    addsGenerationPrompt: Bool = true
  ) {
    self.mediaStyle = mediaStyle
    self.thinking = thinking
    self.isRaw = isRaw
    self.addsGenerationPrompt = addsGenerationPrompt
  }

  /// The pieces of a conversation.
  ///
  /// - Parameter messages: the turns, oldest first.
  /// - Returns: the pieces, `<bos>` first.
  /// - Throws: `PromptError` where there is no turn or the system turn holds a medium.
  public func pieces(_ messages: [ChatMessage]) throws(PromptError) -> [PromptPiece] {
    guard let first = messages.first else { throw .noMessages }
    var pieces: [PromptPiece] = [.special("<bos>")]
    let hasSystem = first.role == .system || first.role == .developer
    if thinking || hasSystem {
      open("system", &pieces)
      if thinking { pieces += [.special("<|think|>"), .text("\n", parseSpecial: false)] }
      for part in hasSystem ? first.content : [] {
        guard case .text(let text) = part else {
          if case .medium(let medium) = part { throw .mediumInSystemTurn(kind: medium.kind) }
          continue
        }
        append(text, &pieces)
      }
      close(&pieces)
    }
    for message in hasSystem ? messages.dropFirst() : messages[...] {
      open(message.role == .assistant ? "model" : message.role.rawValue, &pieces)
      for part in message.content { append(part, of: message.role, &pieces) }
      close(&pieces)
    }
    if addsGenerationPrompt { open("model", &pieces) }
    return pieces
  }

  /// A conversation as text with placeholders, as the model's own template renders it.
  ///
  /// - Parameter messages: the turns, oldest first.
  /// - Returns: the text.
  /// - Throws: as `pieces`.
  public func text(_ messages: [ChatMessage]) throws(PromptError) -> String {
    try pieces(messages).map { piece in
      switch piece {
      case .special(let name): name
      case .text(let text, _): text
      case .medium(let medium): medium.kind.placeholder
      }
    }.joined()
  }

  private func open(_ role: String, _ pieces: inout [PromptPiece]) {
    pieces += [.special("<|turn>"), .text(role + "\n", parseSpecial: false)]
  }

  private func close(_ pieces: inout [PromptPiece]) {
    pieces += [.special("<turn|>"), .text("\n", parseSpecial: false)]
  }

  private func append(_ text: String, _ pieces: inout [PromptPiece]) {
    let trimmed = Self.trimmed(text)
    if !trimmed.isEmpty { pieces.append(.text(trimmed, parseSpecial: isRaw)) }
  }

  private func append(
    _ part: ContentPart,
    of role: ChatMessage.Role,
    _ pieces: inout [PromptPiece]
  ) {
    switch part {
    case .text(let text):
      append(role == .assistant ? Self.withoutThoughts(text) : text, &pieces)
    case .medium(let medium):
      let isVisual = medium.kind != .audio
      if isVisual { appendNewlines(mediaStyle.before, &pieces) }
      pieces.append(.medium(medium))
      if isVisual { appendNewlines(mediaStyle.after, &pieces) }
    }
  }

  private func appendNewlines(_ text: String, _ pieces: inout [PromptPiece]) {
    if !text.isEmpty { pieces.append(.text(text, parseSpecial: false)) }
  }
}

extension ChatTemplate {
  /// A text without white space at its ends, as Python's `strip` has it.
  static func trimmed(_ text: String) -> String {
    func isSpace(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isWhitespace || ("\u{1C}"..."\u{1F}").contains(scalar)
    }
    var rest = text.unicodeScalars[...]
    rest = rest.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return String(rest)
  }

  /// A model's text without its `<|channel>…<channel|>` parts; one that is not closed goes to the
  /// end.
  static func withoutThoughts(_ text: String) -> String {
    pieces(of: text.utf8[...], at: "<channel|>")
      .map { part in String(Substring(pieces(of: part, at: "<|channel>")[0])) }.joined()
  }

  private static func pieces(
    of text: Substring.UTF8View,
    at separator: String
  ) -> [Substring.UTF8View] {
    var result: [Substring.UTF8View] = []
    var start = text.startIndex
    var position = start
    while position < text.endIndex {
      if text[position...].starts(with: separator.utf8) {
        result.append(text[start..<position])
        position = text.index(position, offsetBy: separator.utf8.count)
        start = position
      } else {
        position = text.index(after: position)
      }
    }
    return result + [text[start...]]
  }
}
