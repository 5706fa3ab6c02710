/// Sizes and switches of the vision tower.
public struct VisionConfiguration: Hashable, Sendable {
  /// Width of the stream.
  public var hiddenSize: Int
  /// Width of the feed-forward block.
  public var intermediateSize: Int
  /// Layers.
  public var layerCount: Int
  /// Query heads.
  public var queryHeads: Int
  /// Key and value heads.
  public var keyValueHeads: Int
  /// Width of a head.
  public var headSize: Int
  /// Side of a patch, pixels.
  public var patchSize: Int
  /// Side of the block of patches that becomes one soft token.
  public var poolingKernel: Int
  /// Rows of each of the two position tables.
  public var positionCount: Int
  /// Rotary frequencies, one per pair of half a head.
  public var frequencies: [Float]
  /// Added to mean squares in norms.
  public var epsilon: Float
  /// Whether projections clamp their inputs and outputs.
  public var clipsLinears: Bool
  /// Whether pooled features are shifted and scaled before projection.
  public var standardizes: Bool
  /// Soft tokens of a still image at most.
  public var softTokens: Int

  /// Values of one patch: three channels.
  public var patchValues: Int { 3 * patchSize * patchSize }
  /// Patches of one soft token.
  public var patchesPerToken: Int { poolingKernel * poolingKernel }
}
