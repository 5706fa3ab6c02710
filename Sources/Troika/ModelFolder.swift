import Devices
public import Graph
public import Models
import Media

/// Everything a folder says about a model, its weights mapped and nothing computed.
public struct ModelFolder: Sendable {
  /// The folder.
  public let path: String
  /// The programs.
  public let model: Gemma4
  /// The weights.
  public let weights: any WeightSource
  /// Text to ids and back.
  public let encoder: PromptEncoder
  /// The chat format, with the folder's media style.
  public let template: ChatTemplate
  /// Stop tokens and sampling defaults.
  public let generation: GenerationConfig
  /// What becomes of media before they reach a tower.
  public let processor: ProcessorSettings
  /// The bundle, where the folder is one.
  public let bundle: ModelBundle?
  /// What the user should know about the folder.
  public let warnings: [String]
  /// Nanoseconds that opening took.
  let openNanoseconds: Int

  /// Opens a bundle or a Hugging Face checkpoint folder.
  ///
  /// - Throws: where a file is missing, malformed, or does not fit the others.
  public init(path: String) throws {
    let start = MonotonicClock.nanoseconds
    self.path = path
    bundle = ModelBundle.exists(in: path) ? try ModelBundle(folder: path) : nil
    let weights: any WeightSource = try bundle ?? Checkpoint(folder: path)
    self.weights = weights
    var configuration = try Gemma4Configuration(JSONNode(file: path + "/config.json"))
    if bundle?.hasOwnHead == true { configuration.text.tiesEmbeddings = false }
    model = try Gemma4(configuration, over: weights)
    try model.validate(over: weights, path: path)
    encoder = try PromptEncoder(folder: path)
    if let manifest = bundle?.manifest {
      template = ChatTemplate(mediaStyle: manifest.mediaStyle)
      warnings = manifest.warnings
    } else {
      let style = MediaStyleDetection(folder: path)
      template = ChatTemplate(mediaStyle: style.style)
      warnings = style.warning.map { [$0] } ?? []
    }
    generation = try GenerationConfig(folder: path)
    processor = try ProcessorSettings(folder: path, configuration: configuration)
    openNanoseconds = MonotonicClock.nanoseconds - start
    if let manifest = bundle?.manifest { try check(manifest) }
  }

  /// Checks that a bundle's cuts and context fit its model.
  private func check(_ manifest: BundleManifest) throws(ModelFolderError) {
    let text = model.configuration.text
    guard ChunkLayout(ends: manifest.chunks, layerCount: text.layers.count) != nil else {
      throw ModelFolderError(
        path: path + "/manifest.json",
        reason: "expected chunks that end at \(text.layers.count), came \(manifest.chunks)"
      )
    }
    guard (2...text.maximumPositions).contains(manifest.context) else {
      throw ModelFolderError(
        path: path + "/manifest.json",
        reason: "expected a context of 2 to \(text.maximumPositions), came \(manifest.context)"
      )
    }
  }

  /// The decoder's cuts where nobody asks for others: the bundle's, else the usual ones.
  public var layout: ChunkLayout {
    let text = model.configuration.text
    return bundle.flatMap { ChunkLayout(ends: $0.manifest.chunks, layerCount: text.layers.count) }
      ?? ChunkLayout(standardFor: text)
  }

  /// Positions of the caches where nobody asks for others.
  public var context: Int {
    bundle?.manifest.context ?? min(8192, model.configuration.text.maximumPositions)
  }

  /// Tokens of the prefill programs where nobody asks for others.
  public var prefill: [Int] { bundle?.manifest.prefill ?? [64, 512] }
}
