/// Sizes and switches of the decoder, resolved layer by layer.
public struct TextConfiguration: Hashable, Sendable {
  /// One decoder layer.
  public struct Layer: Hashable, Sendable {
    /// Whether it sees only the sliding window.
    public let isSliding: Bool
    /// Width of a head.
    public let headSize: Int
    /// Key and value heads.
    public let keyValueHeads: Int
    /// Width of the feed-forward block.
    public let intermediateSize: Int
    /// The layer whose keys and values it reads; its own index where it makes them.
    public let source: Int
    /// Whether values are the raw keys, so that there is no value projection.
    public let sharesKeysAsValues: Bool

    /// A layer from its parts.
    public init(
      isSliding: Bool,
      headSize: Int,
      keyValueHeads: Int,
      intermediateSize: Int,
      source: Int,
      sharesKeysAsValues: Bool
    ) {
      self.isSliding = isSliding
      self.headSize = headSize
      self.keyValueHeads = keyValueHeads
      self.intermediateSize = intermediateSize
      self.source = source
      self.sharesKeysAsValues = sharesKeysAsValues
    }
  }

  /// Rows of the embedding table.
  public var vocabularySize: Int
  /// Rows of the per-layer embedding table.
  public var perLayerVocabularySize: Int
  /// Width of the residual stream.
  public var hiddenSize: Int
  /// Width of one layer's per-layer input; 0 where the model has none.
  public var perLayerSize: Int
  /// Query heads.
  public var queryHeads: Int
  /// The layers, first to last.
  public var layers: [Layer]
  /// Positions a sliding layer sees, its own included.
  public var slidingWindow: Int
  /// Rotary frequencies of sliding layers, one per pair.
  public var slidingFrequencies: [Float]
  /// Rotary frequencies of full layers, one per pair.
  public var fullFrequencies: [Float]
  /// Logits are softly limited to ± this, where given.
  public var logitSoftcap: Float?
  /// Added to mean squares in norms.
  public var epsilon: Float
  /// Whether sliding layers see whole images while prefilling.
  public var seesWholeMedia: Bool
  /// Whether the output projection is the embedding table.
  public var tiesEmbeddings: Bool
  /// Id whose rows stand at media positions.
  public var padToken: Int
  /// Positions the model was made for.
  public var maximumPositions: Int

  /// The first layer that owns no keys and values; the layer count where all own theirs.
  public var firstSharedLayer: Int {
    (layers.indices.last { layers[$0].source == $0 } ?? -1) + 1
  }

  /// Layers whose keys and values later layers or steps read.
  public var owningLayers: [Int] { layers.indices.filter { layers[$0].source == $0 } }
}

extension TextConfiguration {
  /// Frequencies of the ordinary rotary embedding: `theta^(-2i/size)`.
  public static func frequencies(theta: Double, headSize: Int) -> [Float] {
    (0..<headSize / 2).map { Float(1) / power(theta, exponent: 2 * $0, over: headSize) }
  }

  /// Frequencies of the proportional form: only the first `fraction` of the pairs turn, the
  /// exponents' denominator stays the whole head.
  ///
  /// Source: Hugging Face transformers, `rope_type` "proportional".
  public static func frequencies(
    theta: Double,
    headSize: Int,
    turning fraction: Double
  ) -> [Float] {
    let turning = Int(fraction * Double(headSize) / 2)
    return (0..<headSize / 2).map {
      $0 < turning ? Float(1) / power(theta, exponent: 2 * $0, over: headSize) : 0
    }
  }

  private static func power(_ base: Double, exponent: Int, over size: Int) -> Float {
    Float(exponential(base, Double(Float(exponent) / Float(size))))
  }
}
