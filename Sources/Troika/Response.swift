public import Graph

/// An answer and how it came about.
public struct Response: Sendable {
  /// Nanoseconds that each part took.
  public struct Timings: Hashable, Sendable {
    /// Loading the model.
    public var loadNanoseconds = 0
    /// Decoding and preprocessing media.
    public var decodeMediaNanoseconds = 0
    /// Running the towers.
    public var encodeNanoseconds = 0
    /// Running the prompt through the decoder.
    public var prefillNanoseconds = 0
    /// From the request to the first token.
    public var firstTokenNanoseconds = 0
    /// Generating the tokens after the first.
    public var decodeNanoseconds = 0
    /// From the request to the end.
    public var totalNanoseconds = 0

    /// All zero.
    public init() {}
  }

  /// The answer without special tokens.
  public var text = ""
  /// The generated ids, without the stop token.
  public var tokens: [Int] = []
  /// Ids of the prompt, media included.
  public var promptTokens = 0
  /// Prompt tokens that were already in the caches.
  public var cachedTokens = 0
  /// Soft tokens of all media.
  public var softTokens = 0
  /// Why generation ended.
  public var finishReason = FinishReason.stop
  /// Bytes that the plans of the programs run so far predict: weights read whole, intermediate
  /// results, values between programs, caches.
  public var plannedByteCount = 0
  /// The lengths of what was run, for simulating the same request elsewhere.
  public var shape = RequestShape([], maxTokens: 1)
  /// How long each part took.
  public var timings = Timings()
  /// What ran where and when.
  public var timeline = Timeline()
  /// What the user should know about the media, for example a truncated file.
  public var warnings: [String] = []
}
