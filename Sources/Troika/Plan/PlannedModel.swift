public import Graph
public import Models

/// What a plan is made over: a model's programs and the types of its weights.
public struct PlannedModel: Sendable {
  /// The programs.
  public let model: Gemma4
  /// The weights; only their types are asked for.
  public let weights: any WeightSource
  /// The decoder's cuts where nobody asks for others.
  public let layout: ChunkLayout
  /// Positions of the caches where nobody asks for others.
  public let context: Int
  /// Token counts of prefill programs where nobody asks for others.
  public let prefill: [Int]

  /// The model of a folder.
  public init(_ folder: ModelFolder) {
    model = folder.model
    weights = folder.weights
    layout = folder.layout
    context = folder.context
    prefill = folder.prefill
  }

  /// A model's shapes without any file.
  ///
  /// - Parameters:
  ///   - size: whose shapes.
  ///   - format: how a bundle of it would store the decoder's matrices.
  /// - Throws: never for the sizes there are.
  public init(_ size: SyntheticModel.Size, _ format: WeightFormat) throws {
    let synthetic = try SyntheticModel(size)
    let text = synthetic.model.configuration.text
    layout = ChunkLayout(standardFor: text)
    let types = try synthetic.types(format, layout)
    var configuration = synthetic.model.configuration
    configuration.text.tiesEmbeddings = types.type(of: "lm_head.weight") == nil
    model = try Gemma4(configuration, over: synthetic.rows)
    weights = types
    context = min(8192, text.maximumPositions)
    prefill = [64, 512]
  }
}
