/// The ids that stand for media, from a model's `config.json`.
public struct MediaTokens: Hashable, Sendable {
  /// An opening, a repeated and a closing token.
  public struct Frame: Hashable, Sendable {
    /// Stands before the soft tokens.
    public let open: Int
    /// Stands for one soft token.
    public let soft: Int
    /// Stands behind the soft tokens.
    public let close: Int
  }

  private let frames: [MediaKind: Frame]
  private let absent: [MediaKind: String]
  private let file: String

  /// Reads the ids and checks that the tokenizer has them.
  ///
  /// A kind may be absent from the configuration; using it is an error then. `video_token_id`
  /// alone may lie beyond the tokenizer, as processors add that token themselves.
  ///
  /// - Parameters:
  ///   - config: the top of `config.json`.
  ///   - tokenizer: the model's tokenizer.
  /// - Throws: `JSONError`, or `PromptError.missingToken` where the tokenizer lacks one.
  public init(_ config: JSONNode, _ tokenizer: Tokenizer) throws {
    let image = ["boi_token_id", "image_token_id", "eoi_token_id"]
    let video = ["boi_token_id", "video_token_id", "eoi_token_id"]
    let closeAudio = config.value["eoa_token_id"] == nil ? "eoa_token_index" : "eoa_token_id"
    let audio = ["boa_token_id", "audio_token_id", closeAudio]
    var frames: [MediaKind: Frame] = [:]
    var absent: [MediaKind: String] = [:]
    for (kind, fields) in [MediaKind.image: image, .video: video, .audio: audio] {
      var ids: [Int] = []
      for field in fields {
        guard let id = try config.optional(field)?.integer() else {
          absent[kind] = field
          break
        }
        guard tokenizer.token(of: id) != nil || field == "video_token_id" && id >= 0 else {
          throw PromptError.missingToken(file: tokenizer.subject, token: "\(field) \(id)")
        }
        ids.append(id)
      }
      if ids.count == 3 { frames[kind] = Frame(open: ids[0], soft: ids[1], close: ids[2]) }
    }
    self.frames = frames
    self.absent = absent
    file = config.subject
  }

  /// The tokens of a kind.
  ///
  /// - Throws: `PromptError.noMediaToken` where the configuration does not name them.
  public func frame(_ kind: MediaKind) throws(PromptError) -> Frame {
    guard let frame = frames[kind] else {
      throw .noMediaToken(file: file, field: absent[kind] ?? "image_token_id")
    }
    return frame
  }

  /// The kind that an id stands for, nil for every other id.
  public func kind(of id: Int) -> MediaKind? {
    MediaKind.allCases.first { frames[$0]?.soft == id }
  }
}

/// How many soft tokens a medium takes, frame by frame for a video.
public enum MediaExtent: Hashable, Sendable {
  /// One frame of a video.
  public struct VideoFrame: Hashable, Sendable {
    /// When it is shown.
    public let seconds: Double
    /// How many soft tokens it takes.
    public let tokenCount: Int

    /// A frame with its time and size.
    public init(seconds: Double, tokenCount: Int) {
      self.seconds = seconds
      self.tokenCount = tokenCount
    }

    /// Minutes and seconds, both truncated, minutes unbounded.
    public var label: String {
      let whole = seconds.isFinite ? Int(min(max(seconds, 0), 1e15)) : 0
      func padded(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
      return padded(whole / 60) + ":" + padded(whole % 60)
    }
  }

  /// An image, or a recording in one block.
  case tokens(Int)
  /// A recording in blocks, each with its own delimiters; none where there is no sound.
  case blocks([Int])
  /// A video.
  case frames([VideoFrame])
}
