public import Devices
public import Graph
public import Models

/// Compares what this project computes with goldens of the reference implementation.
///
/// Every stage after preprocessing starts from this project's own previous stage.
public final class Verification {
  /// The stages, in order, named for the files of a set.
  public static let stages = [
    "tables", "tokenizer", "chat", "preprocess", "preprocess_e2b", "vision", "audio", "text",
    "multimodal",
  ]

  let folder: ModelFolder
  let set: GoldenSet
  let store: ProgramStore
  let placement: Placement
  let layout: ChunkLayout
  let registry: Registry
  private let prefill: [Int]
  let sharedLayers: TextDecoder.SharedLayers
  /// What the user should know about the placement.
  public let warnings: [String]
  /// Receives each check as soon as it is made.
  public var report: (Check) -> Void = { _ in }
  /// Stages that could not run because the set lacks their file.
  public private(set) var missing: [String] = []

  /// A verification of a model folder against a set.
  ///
  /// - Parameters:
  ///   - model: the folder.
  ///   - goldens: the set.
  ///   - placement: where each part runs.
  ///   - registry: the units.
  ///   - layout: cuts between the decoder's programs; nil for the usual ones.
  ///   - prefill: token counts of prefill programs; nil for the usual ones.
  ///   - sharedLayers: for which positions of a prompt the sharing layers run.
  ///   - allowsFallback: whether a program that its unit refuses may run on the CPU.
  /// - Throws: where the folder or the set's manifest cannot be read.
  public init(
    model: ModelFolder,
    goldens: String,
    placement: Placement,
    registry: Registry,
    layout: ChunkLayout? = nil,
    prefill: [Int]? = nil,
    sharedLayers: TextDecoder.SharedLayers = .last,
    allowsFallback: Bool = true
  ) throws {
    folder = model
    self.sharedLayers = sharedLayers
    self.prefill = prefill ?? folder.prefill
    set = try GoldenSet(folder: goldens)
    self.registry = registry
    self.layout = layout ?? folder.layout
    try folder.bundle?.checkDigests()
    let check = try PlacementCheck(
      placement,
      model: folder.model,
      weights: folder.weights,
      layout: self.layout,
      registry: registry,
      allowsFallback: allowsFallback
    )
    self.placement = check.placement
    warnings = check.warnings
    store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: check.placement
    )
  }

  /// Sum and number of the correlations of logits with their goldens, where weights are quantised.
  var correlations = (sum: 0.0, rows: 0)

  /// How the decoder's matrices are stored, where that moves its numbers.
  var quantised: WeightFormat? {
    let weights = folder.bundle?.manifest.weights
    return weights == .f16 ? nil : weights
  }

  /// Runs stages in order.
  ///
  /// - Parameter names: the stages; nil for all.
  /// - Returns: all checks.
  /// - Throws: where a stage's name is unknown or a golden file is damaged.
  public func run(stages names: [String]?) throws -> [Check] {
    for name in names ?? [] where !Self.stages.contains(name) { throw GoldenError.stage(name) }
    var checks: [Check] = []
    let collect: (Check) -> Void = { [report] check in
      checks.append(check)
      report(check)
    }
    for stage in Self.stages where names?.contains(stage) ?? true {
      let file =
        stage == "chat"
        ? "chat_templates.json"
        : ["tables", "tokenizer"].contains(stage) ? stage + ".json" : stage + ".safetensors"
      guard set.has(file) else {
        missing.append(stage)
        continue
      }
      switch stage {
      case "tables": try verifyTables(collect)
      case "tokenizer": try verifyTokenizer(collect)
      case "chat": try verifyChat(collect)
      case "preprocess": try verifyPreprocess(collect)
      case "preprocess_e2b": try verifyPreprocessE2B(collect)
      case "vision": try verifyVision(collect)
      case "audio": try verifyAudio(collect)
      case "text": try verifyText(collect)
      default: try verifyMultimodal(collect)
      }
    }
    if let check = correlationCheck { collect(check) }
    return checks
  }

  /// What became of the numbers of the units that store fp16, in all stages so far.
  public var health: [UnitHealth] { registry.health(of: placement.units) }

  /// The gate of quantised weights: how the logits correlate with the goldens' on the whole.
  private var correlationCheck: Check? {
    guard let quantised, correlations.rows > 0 else { return nil }
    let mean = correlations.sum / Double(correlations.rows)
    let isGated = quantised == .int8
    return Check(
      stage: "decoder",
      name: "mean logit correlation over \(correlations.rows) positions",
      minCosine: mean,
      tolerance: isGated ? "mean \(Tolerance.bytesCorrelation)" : "not gated",
      holds: !isGated || mean >= Tolerance.bytesCorrelation,
      isGated: isGated
    )
  }

  /// Shapes for prompts of at most this length.
  func shapes(batch: Int) throws -> CompiledShapes {
    try CompiledShapes(
      placement,
      layout: layout,
      registry: registry,
      prefill: prefill,
      batch: batch
    )
  }

  /// The towers with the shapes of the placement.
  func encoders() throws -> Encoders {
    let shapes = try shapes(batch: 512)
    return Encoders(
      store: store,
      model: folder.model,
      visionShapes: shapes.vision,
      audioShapes: shapes.audio
    )
  }

  /// Whether a part runs on a unit that stores fp16.
  func isHalf(_ part: Part) -> Bool {
    let units = placement.globUnits.union([placement.unit(of: part)])
    return units.contains { unit in
      (try? registry.unit(unit).profile.numerics.storage == .f16) ?? false
    }
  }

  /// Whether any part of the decoder runs on a unit that stores fp16.
  var decodesInHalf: Bool {
    let chunks = layout.ranges.indices.flatMap { index in
      Part.Phase.allCases.flatMap { [Part.chunk(index + 1, $0), .head($0)] }
    }
    return chunks.contains { isHalf($0) }
  }
}
