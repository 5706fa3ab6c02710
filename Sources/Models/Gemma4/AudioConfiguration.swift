/// Sizes and switches of the audio tower.
public struct AudioConfiguration: Hashable, Sendable {
  /// Width of the stream.
  public var hiddenSize: Int
  /// Conformer layers.
  public var layerCount: Int
  /// Attention heads.
  public var heads: Int
  /// Channels of the two subsampling convolutions.
  public var channels: [Int]
  /// Taps of the light convolution.
  public var kernelSize: Int
  /// Share of a feed-forward block added to the stream.
  public var residualWeight: Float
  /// Frames a query sees, its own included.
  public var window: Int
  /// Attention scores are softly limited to ± this.
  public var scoreSoftcap: Float
  /// Added to mean squares in norms.
  public var epsilon: Float
  /// Whether projections clamp their inputs and outputs.
  public var clipsLinears: Bool
  /// Width of the tower's output.
  public var outputSize: Int
  /// Mel bins of the input.
  public var melBins: Int

  /// Width of a head.
  public var headSize: Int { hiddenSize / heads }

  /// Frames after one subsampling convolution: every second one.
  public static func halved(_ frames: Int) -> Int { (frames + 1) / 2 }

  /// Soft tokens of `frames` mel frames.
  public static func tokens(frames: Int) -> Int { halved(halved(frames)) }
}
