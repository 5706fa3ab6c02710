public import Models

/// What a request asks for, as far as its time depends on it: lengths, no contents.
public struct RequestShape: Hashable, Sendable {
  /// A stretch of the prompt.
  public enum Piece: Hashable, Sendable {
    /// Tokens of text.
    case text(tokens: Int)
    /// A picture.
    case image(patches: Int, tokens: Int)
    /// A frame of a video.
    case frame(patches: Int, tokens: Int)
    /// A block of sound.
    case sound(melFrames: Int, tokens: Int)

    /// Positions it takes.
    public var tokens: Int {
      switch self {
      case .text(let tokens), .image(_, let tokens), .frame(_, let tokens), .sound(_, let tokens):
        tokens
      }
    }
  }

  /// The prompt in order.
  public var pieces: [Piece]
  /// Tokens to generate.
  public var maxTokens: Int

  /// A request from its parts.
  public init(_ pieces: [Piece], maxTokens: Int) {
    self.pieces = pieces
    self.maxTokens = maxTokens
  }

  /// Tokens of the prompt.
  public var promptTokens: Int { pieces.reduce(0) { $0 + $1.tokens } }

  /// A request of some text behind some media, as the usual prompts have them.
  ///
  /// Pictures are square and as large as the model takes; each medium has its begin and end token.
  ///
  /// - Parameters:
  ///   - model: whose towers.
  ///   - textTokens: tokens beside those of media.
  ///   - images: pictures.
  ///   - frames: frames of a video.
  ///   - audioSeconds: seconds of sound, in blocks of at most 30.
  ///   - maxTokens: tokens to generate.
  /// - Throws: `TroikaError.lacksTower`, or where there is nothing to read.
  public init(
    _ model: Gemma4,
    textTokens: Int,
    images: Int = 0,
    frames: Int = 0,
    audioSeconds: Double = 0,
    maxTokens: Int
  ) throws(TroikaError) {
    var pieces: [Piece] = []
    if images + frames > 0 {
      guard let vision = model.vision?.configuration else { throw .lacksTower("vision") }
      let side = Int(Double(vision.softTokens).squareRoot())
      let image = Piece.image(patches: side * side * vision.patchesPerToken, tokens: side * side)
      let count = VisionConfiguration.frameTokens
      let frame = Piece.frame(patches: count * vision.patchesPerToken, tokens: count)
      for piece in [Piece](repeating: image, count: images) + Array(repeating: frame, count: frames)
      {
        pieces += [.text(tokens: 1), piece, .text(tokens: 1)]
      }
    }
    if audioSeconds > 0 {
      guard model.audio != nil else { throw .lacksTower("audio") }
      var left = audioSeconds
      while left > 0 {
        let frames = max(1, Int((min(left, 30) * 100).rounded()))
        let tokens = AudioConfiguration.tokens(frames: frames)
        pieces += [
          .text(tokens: 1), .sound(melFrames: frames, tokens: tokens), .text(tokens: 1),
        ]
        left -= 30
      }
    }
    if textTokens > 0 { pieces.append(.text(tokens: textTokens)) }
    guard !pieces.isEmpty else { throw .emptyPrompt }
    self.init(pieces, maxTokens: maxTokens)
  }
}

extension VisionConfiguration {
  /// Soft tokens of a frame whose sides are equal, from at most 70.
  static let frameTokens = 64
}
