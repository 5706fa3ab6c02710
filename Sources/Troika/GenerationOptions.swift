public import Models

/// How an answer is made.
public struct GenerationOptions: Hashable, Sendable {
  /// Tokens to generate at most.
  public var maxTokens: Int
  /// How the next token is chosen; greedy by default.
  public var sampling: SamplingOptions
  /// Newlines around media; nil follows the model folder's template.
  public var mediaStyle: MediaStyle?
  /// Per-layer inputs at media positions.
  public var mediaPerLayer: MediaPerLayerInput
  /// Whether the model is asked to think.
  public var thinking: Bool
  /// Whether special tokens in prompts count as such.
  public var isRaw: Bool
  /// Whether generation goes on after stop tokens.
  public var ignoresStopTokens: Bool

  /// Options with their defaults.
  public init(
    maxTokens: Int = 256,
    sampling: SamplingOptions = SamplingOptions(),
    mediaStyle: MediaStyle? = nil,
    mediaPerLayer: MediaPerLayerInput = .pad,
    thinking: Bool = false,
    isRaw: Bool = false,
    ignoresStopTokens: Bool = false
  ) {
    self.maxTokens = maxTokens
    self.sampling = sampling
    self.mediaStyle = mediaStyle
    self.mediaPerLayer = mediaPerLayer
    self.thinking = thinking
    self.isRaw = isRaw
    self.ignoresStopTokens = ignoresStopTokens
  }
}

/// A conversation to be continued and the media it names.
public struct Request: Hashable, Sendable {
  /// The turns so far, the last of them the user's.
  public var messages: [ChatMessage]
  /// Where the media are.
  public var media: [Medium: MediaSource]
  /// How the answer is made.
  public var options: GenerationOptions

  /// A request from its parts.
  public init(
    messages: [ChatMessage],
    media: [Medium: MediaSource] = [:],
    options: GenerationOptions = GenerationOptions()
  ) {
    self.messages = messages
    self.media = media
    self.options = options
  }
}

/// Why generation ended.
public enum FinishReason: String, Hashable, Sendable {
  /// The model ended its turn.
  case stop
  /// The token limit was reached.
  case length
  /// The context is full.
  case context
  /// The caller cancelled.
  case cancelled
}
