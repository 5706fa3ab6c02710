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
  /// What the user should know about the folder.
  public let warnings: [String]

  /// Opens a Hugging Face checkpoint folder.
  ///
  /// - Throws: where a file is missing, malformed, or does not fit the others.
  public init(path: String) throws {
    self.path = path
    let checkpoint = try Checkpoint(folder: path)
    weights = checkpoint
    let configuration = try Gemma4Configuration(JSONNode(file: path + "/config.json"))
    model = try Gemma4(configuration, over: checkpoint)
    try model.validate(over: checkpoint, path: path)
    encoder = try PromptEncoder(folder: path)
    let style = MediaStyleDetection(folder: path)
    template = ChatTemplate(mediaStyle: style.style)
    generation = try GenerationConfig(folder: path)
    processor = try ProcessorSettings(folder: path, configuration: configuration)
    warnings = style.warning.map { [$0] } ?? []
  }
}
