/// What a medium is.
///
/// The raw values are the reference's token type ids.
public enum MediaKind: Int, Hashable, Sendable, CaseIterable {
  /// A still picture.
  case image = 1
  /// Frames with timestamps.
  case video = 2
  /// A recording.
  case audio = 3

  /// What marks the place of such a medium in a text.
  public var placeholder: String {
    switch self {
    case .image: "<|image|>"
    case .video: "<|video|>"
    case .audio: "<|audio|>"
    }
  }
}

/// One of the media that belong to a conversation.
public struct Medium: Hashable, Sendable {
  /// What it is.
  public let kind: MediaKind
  /// Its number among the media of this kind, in the order in which they were given.
  public let index: Int

  /// The medium number `index` of a kind.
  public init(_ kind: MediaKind, _ index: Int) {
    self.kind = kind
    self.index = index
  }
}

/// A piece of a message.
public enum ContentPart: Hashable, Sendable {
  /// Words.
  case text(String)
  /// The place of a medium.
  case medium(Medium)
}

/// One turn of a conversation.
public struct ChatMessage: Hashable, Sendable {
  /// Who speaks.
  public enum Role: String, Hashable, Sendable, CaseIterable {
    /// Standing instructions.
    case system
    /// Standing instructions under their other name.
    case developer
    /// The person.
    case user
    /// The model.
    case assistant
  }

  /// Who speaks.
  public let role: Role
  /// What is said and shown, in order.
  public let content: [ContentPart]

  /// A turn with any content.
  public init(_ role: Role, _ content: [ContentPart]) {
    self.role = role
    self.content = content
  }

  /// A turn of words.
  public init(_ role: Role, _ text: String) { self.init(role, [.text(text)]) }
}

extension ContentPart {
  /// A prompt that a person typed, cut at its placeholders.
  ///
  /// The first placeholder of a kind takes the first medium of that kind, and so on. Media without
  /// a placeholder go in front, in their order.
  ///
  /// - Parameters:
  ///   - prompt: text with `<|image|>`, `<|video|>`, `<|audio|>` where media go.
  ///   - media: the media of this turn, in the order given.
  /// - Returns: the parts, without empty texts.
  /// - Throws: `PromptError.tooManyPlaceholders`.
  public static func parts(
    of prompt: String,
    media: [Medium]
  ) throws(PromptError) -> [ContentPart] {
    var waiting = media
    var parts: [ContentPart] = []
    var text = Substring()
    var rest = prompt[...]
    while !rest.isEmpty {
      guard
        let kind = MediaKind.allCases.first(where: { rest.utf8.starts(with: $0.placeholder.utf8) })
      else {
        text.unicodeScalars.append(rest.unicodeScalars.removeFirst())
        continue
      }
      guard let position = waiting.firstIndex(where: { $0.kind == kind }) else {
        throw .tooManyPlaceholders(
          kind: kind,
          placeholders: count(of: kind, in: prompt),
          media: media.count { $0.kind == kind }
        )
      }
      if !text.isEmpty { parts.append(.text(String(text))) }
      text = ""
      parts.append(.medium(waiting.remove(at: position)))
      rest = Substring(rest.utf8.dropFirst(kind.placeholder.utf8.count))
    }
    if !text.isEmpty { parts.append(.text(String(text))) }
    return waiting.map { .medium($0) } + parts
  }

  private static func count(of kind: MediaKind, in prompt: String) -> Int {
    var count = 0
    var rest = prompt.utf8[...]
    while !rest.isEmpty {
      if rest.starts(with: kind.placeholder.utf8) { count += 1 }
      rest = rest.dropFirst()
    }
    return count
  }
}
