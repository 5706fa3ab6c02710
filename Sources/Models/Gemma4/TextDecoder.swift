public import Graph

/// The decoder: embeddings, chunks of layers, head, each as a program of its own.
///
/// Axis letters: `T` tokens of this step, `Q` rows that go on to the end, `D` width of the stream,
/// `H` query heads, `G` key-value heads, `E` head width, `L` layers, `P` per-layer width, `R` cache
/// rows, `V` vocabulary.
public struct TextDecoder: Sendable {
  /// Sizes and switches.
  public let configuration: TextConfiguration
  /// Where the decoder's tensors stand in the checkpoint.
  public let prefix: String

  /// The output projection of a model whose embeddings are not tied to it.
  static let headName = "lm_head.weight"

  /// The embedding table.
  var tableName: String { prefix + "embed_tokens.weight" }

  /// A decoder over tensors named `prefix` and what follows.
  public init(_ configuration: TextConfiguration, prefix: String = "model.language_model.") {
    self.configuration = configuration
    self.prefix = prefix
  }

  /// This decoder with a head of its own.
  public var untied: TextDecoder {
    var own = configuration
    own.tiesEmbeddings = false
    return TextDecoder(own, prefix: prefix)
  }

  /// Which rows of a step have their logits wanted.
  public enum Rows: Hashable, Sendable {
    /// None: the step only fills the caches.
    case none
    /// The last real one, whose logits choose the next token.
    case last
    /// All of them.
    case all
  }

  /// Which rows go through the layers that own no keys and values.
  public enum SharedLayers: String, Hashable, Sendable, CaseIterable {
    /// Those whose logits are wanted.
    case last
    /// All of them, as programs do that know only one number of rows.
    case all
  }

  /// The shape of one chunk program.
  public struct ChunkShape: Hashable, Sendable {
    /// The layers it holds.
    public let layers: Range<Int>
    /// Tokens of the step.
    public let tokens: Int
    /// Rows whose logits are wanted.
    public let rows: Rows
    /// Rows that go on past the last owning layer.
    public let sharedLayers: SharedLayers
    /// Rows of a sliding layer's cache.
    public let slidingCacheRows: Int
    /// Rows of a full layer's cache.
    public let fullCacheRows: Int
    /// Format of the caches.
    public let cacheType: DType
    /// Whether the head is part of the program.
    public let includesHead: Bool

    /// A shape from its parts.
    public init(
      layers: Range<Int>,
      tokens: Int,
      rows: Rows,
      sharedLayers: SharedLayers = .last,
      slidingCacheRows: Int,
      fullCacheRows: Int,
      cacheType: DType = .f32,
      includesHead: Bool = false
    ) {
      self.layers = layers
      self.tokens = tokens
      self.rows = rows
      self.sharedLayers = sharedLayers
      self.slidingCacheRows = slidingCacheRows
      self.fullCacheRows = fullCacheRows
      self.cacheType = cacheType
      self.includesHead = includesHead
    }

    /// Whether rows are given up where the layers without caches of their own begin.
    var narrows: Bool { rows != .all && sharedLayers == .last }

    /// Whether later chunks read a cache as it was before the step.
    ///
    /// Many of their queries still need rows that the step overwrites: then the last chunk that reads
    /// a cache writes it.
    var defersUpdates: Bool { tokens > 1 && !narrows }
  }

  /// The cache a layer owns, `[R, G, E]`.
  public func cacheType(layer: Int, in shape: ChunkShape) -> TensorType {
    let own = configuration.layers[layer]
    return TensorType(
      shape.cacheType,
      [
        own.isSliding ? shape.slidingCacheRows : shape.fullCacheRows, own.keyValueHeads,
        own.headSize,
      ]
    )
  }

  // MARK: - Embedding

  /// Token rows and rotary tables of a step.
  ///
  /// Inputs: `ids [T]` i32, `perLayerIds [T]` i32 where the model has per-layer inputs (negative:
  /// a zero row), `positions [T, 1]` i32. Outputs: `hidden [T, D]`, `perLayerTokens [T, L·P]`,
  /// `slidingTable [T, E]`, `fullTable [T, E]`, all f32.
  ///
  /// - Throws: `GraphError` where the checkpoint lacks a table or has another shape.
  public func embedding(
    tokens: Int,
    over source: any WeightSource,
    taps: Set<String> = []
  ) throws(GraphError) -> Graph {
    let tracer = Tracer("embed", over: source, taps: taps)
    let c = configuration
    tracer.scope("embed") {
      let ids = tracer.input("ids", TensorType(.i32, [tokens]))
      let table = tracer.weight(tableName, [c.vocabularySize, c.hiddenSize])
      tracer.output(
        "hidden",
        table.gathered(ids, as: "tokens") * Float(c.hiddenSize).squareRoot()
      )
      if c.perLayerSize > 0 {
        let perLayerIds = tracer.input("perLayerIds", TensorType(.i32, [tokens]))
        let width = c.layers.count * c.perLayerSize
        let rows = tracer.weight(
          prefix + "embed_tokens_per_layer.weight",
          [c.perLayerVocabularySize, width]
        )
        let scale = Float(c.perLayerSize).squareRoot()
        tracer.output("perLayerTokens", rows.gathered(perLayerIds, as: "perLayer") * scale)
      }
      let positions = tracer.input("positions", TensorType(.i32, [tokens, 1]))
      let sliding = tracer.literal(
        c.slidingFrequencies,
        [c.slidingFrequencies.count],
        name: "slidingFrequencies"
      )
      let full = tracer.literal(
        c.fullFrequencies,
        [c.fullFrequencies.count],
        name: "fullFrequencies"
      )
      tracer.output("slidingTable", positions.rotaryTable(sliding))
      tracer.output("fullTable", positions.rotaryTable(full))
    }
    return try tracer.finish()
  }

  // MARK: - Head

  /// Final norm, logits and soft cap: `hidden [Q, D]` to `logits [Q, V]`.
  ///
  /// - Throws: `GraphError` where the checkpoint lacks a tensor or has another shape.
  public func head(
    rows: Int,
    over source: any WeightSource,
    taps: Set<String> = []
  ) throws(GraphError) -> Graph {
    let tracer = Tracer("head", over: source, taps: taps)
    let hidden = tracer.input(
      "hidden",
      TensorType(.f32, [rows, configuration.hiddenSize])
    )
    tracer.output("logits", head(hidden, tracer))
    return try tracer.finish()
  }

  func head(_ hidden: Tensor, _ tracer: Tracer) -> Tensor {
    let c = configuration
    return tracer.scope("head") {
      let norm = hidden.rmsNorm(
        tracer.weight(prefix + "norm.weight", [c.hiddenSize]),
        epsilon: c.epsilon,
        as: "norm"
      )
      tracer.tap("norm", norm)
      let name = c.tiesEmbeddings ? tableName : Self.headName
      let logits = norm.linear(
        tracer.weight(name, [c.vocabularySize, c.hiddenSize]),
        as: "logits"
      )
      return c.logitSoftcap.map { logits.softcap($0) } ?? logits
    }
  }
}
