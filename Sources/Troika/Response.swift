public import Graph

/// An answer and how it came about.
public struct Response: Sendable {
  /// Nanoseconds that each part took.
  public struct Timings: Hashable, Sendable {
    /// Loading the model.
    public var loadNanoseconds = 0
    /// Decoding and preprocessing media.
    public var decodeMediaNanoseconds = 0
    /// Running the towers, what the host prepares for them included: the times of all their tasks, some
    /// of which run while the prompt does.
    public var encodeNanoseconds = 0
    /// Running the prompt through the decoder: the times of all its tasks.
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
  /// What memory is planned, by what it is for: the plans of the programs run so far, the caches, the
  /// media, and the process around them.
  public var memory = PlannedMemory()
  /// Bytes of all that.
  public var plannedByteCount: Int { memory.byteCount }
  /// What its media take of memory.
  var mediaMemory = MediaMemory()
  /// The lengths of what was run, for simulating the same request elsewhere.
  public var shape = RequestShape([], maxTokens: 1)
  /// How long each part took.
  public var timings = Timings()
  /// What ran where and when; numbers of tasks are in the order of the prompt.
  public var timeline = Timeline()
  /// Tasks of the timeline with lower numbers than this ran before the first token.
  public var promptTaskCount = 0

  /// What ran at the same time before the first token.
  public var overlap: Overlap { Overlap(timeline.before(task: promptTaskCount)) }
  /// What the user should know about the media, for example a truncated file.
  public var warnings: [String] = []
}
