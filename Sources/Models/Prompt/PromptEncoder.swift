/// A prompt as ids, with the places of its media.
public struct EncodedPrompt: Hashable, Sendable {
  /// Soft tokens that stand together: an image, a recording or one frame of a video.
  public struct Span: Hashable, Sendable {
    /// Whose soft tokens these are.
    public let medium: Medium
    /// The number of the video's frame or of the recording's block, 0 for images.
    public let frame: Int
    /// The positions.
    public let range: Range<Int>
  }

  /// The ids.
  public internal(set) var ids: [Int] = []
  /// The soft tokens, in order of position.
  public internal(set) var spans: [Span] = []

  /// For every position 0 for text and the delimiters of media, else the kind's raw value.
  public var typeIDs: [Int] {
    var result = [Int](repeating: 0, count: ids.count)
    for span in spans {
      for position in span.range { result[position] = span.medium.kind.rawValue }
    }
    return result
  }

  /// How many soft tokens all media take.
  public var softTokenCount: Int { spans.reduce(0) { $0 + $1.range.count } }
}

/// Turns pieces of a prompt into ids.
public struct PromptEncoder: Sendable {
  /// The model's tokenizer.
  public let tokenizer: Tokenizer
  /// The ids that stand for media.
  public let media: MediaTokens

  /// An encoder from its parts.
  public init(tokenizer: Tokenizer, media: MediaTokens) {
    self.tokenizer = tokenizer
    self.media = media
  }

  /// An encoder for a model folder.
  ///
  /// - Throws: where `tokenizer.json` or `config.json` cannot be used.
  public init(folder: String) throws {
    tokenizer = try Tokenizer(folder: folder)
    media = try MediaTokens(JSONNode(file: folder + "/config.json"), tokenizer)
  }

  /// The ids of pieces, the same as those of the whole text with its media written out.
  ///
  /// - Parameters:
  ///   - pieces: the prompt.
  ///   - extents: the size of every medium in it.
  /// - Returns: ids and the places of media.
  /// - Throws: `PromptError`.
  public func encode(
    _ pieces: [PromptPiece],
    extents: [Medium: MediaExtent] = [:]
  ) throws(PromptError) -> EncodedPrompt {
    var assembly = PromptAssembly(tokenizer: tokenizer, media: media)
    for piece in pieces {
      switch piece {
      case .text(let text, let parseSpecial): assembly.append(text, parsesSpecial: parseSpecial)
      case .special(let name):
        guard let id = tokenizer.id(of: name) else {
          throw .missingToken(file: tokenizer.subject, token: name)
        }
        try assembly.append(id)
      case .medium(let medium):
        guard let extent = extents[medium] else { throw .unknownMedium(medium) }
        try assembly.append(medium, extent)
      }
    }
    try assembly.flush()
    return assembly.prompt
  }
}

private struct PromptAssembly {
  let tokenizer: Tokenizer
  let media: MediaTokens
  var prompt = EncodedPrompt()
  private var stretches: [Tokenizer.Stretch] = []

  init(tokenizer: Tokenizer, media: MediaTokens) {
    self.tokenizer = tokenizer
    self.media = media
  }

  mutating func append(_ text: String, parsesSpecial: Bool) {
    stretches.append(.init(text: text, parsesSpecial: parsesSpecial))
  }

  mutating func append(_ id: Int) throws(PromptError) {
    try flush()
    prompt.ids.append(id)
  }

  mutating func append(_ medium: Medium, _ extent: MediaExtent) throws(PromptError) {
    switch extent {
    case .tokens(let count): try append(medium, frame: 0, count)
    case .blocks(let counts):
      for (index, count) in counts.enumerated() { try append(medium, frame: index, count) }
    case .frames(let frames):
      for (index, frame) in frames.enumerated() {
        append((index > 0 ? " " : "") + frame.label + " ", parsesSpecial: false)
        try append(medium, frame: index, frame.tokenCount)
      }
    }
  }

  private mutating func append(
    _ medium: Medium,
    frame: Int,
    _ count: Int
  ) throws(PromptError) {
    let tokens = try media.frame(medium.kind)
    try append(tokens.open)
    let start = prompt.ids.count
    prompt.ids.append(contentsOf: repeatElement(tokens.soft, count: max(0, count)))
    prompt.spans.append(.init(medium: medium, frame: frame, range: start..<prompt.ids.count))
    prompt.ids.append(tokens.close)
  }

  /// Encodes the text gathered so far; a placeholder in it has no medium.
  mutating func flush() throws(PromptError) {
    guard !stretches.isEmpty else { return }
    let ids = tokenizer.encode(stretches)
    stretches.removeAll()
    if let kind = ids.lazy.compactMap(media.kind).first {
      throw .tooManyPlaceholders(
        kind: kind,
        placeholders: ids.count { media.kind(of: $0) == kind },
        media: 0
      )
    }
    prompt.ids.append(contentsOf: ids)
  }
}
