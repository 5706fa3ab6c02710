public import Devices
public import Foundation
public import Graph
public import Models

/// A loaded model that answers requests.
///
/// ```swift
/// let troika = try await Troika.load(model: url)
/// let answer = try await troika.generate("Describe this image", images: [photo])
/// for try await piece in troika.stream("What happens?", videoURL: clip) { print(piece) }
/// ```
///
/// Requests run at the same time share the units and nothing else.
public final class Troika: Sendable {
  /// How a model is loaded.
  public struct LoadOptions: Sendable {
    /// Where each part runs.
    public var placement: Placement
    /// Cuts between the decoder's programs; nil for the bundle's or the usual ones.
    public var layout: ChunkLayout?
    /// Positions of the caches; nil for the bundle's, else the model's maximum, at most 8192.
    public var context: Int?
    /// Token counts of prefill programs: fixed-shape units compile these and 1, others take the
    /// largest as the batch; nil for the bundle's, else 64 and 512.
    public var prefillShapes: [Int]?
    /// For which positions of a prompt the layers run that own no keys and values.
    public var sharedLayers: TextDecoder.SharedLayers
    /// How a prompt is dealt out to programs of fixed token counts.
    public var batches: BatchChoice
    /// Switches of the neural engine.
    public var engine: EngineOptions
    /// Worker threads of the processor unit; nil for all processors.
    public var threads: Int?
    /// Which Vulkan device the `gpu` unit is, and how it is used.
    public var gpu: GPUOptions
    /// Whether a program that its unit refuses, or fails, may run on the CPU.
    public var allowsFallback: Bool
    /// What goes wrong on the units, for tests of what follows it.
    public var faults: FaultPlan
    /// Whether different units run a prompt's tasks at the same time; else one task runs after the
    /// other, which gives the same numbers.
    public var overlaps: Bool

    /// Options with their defaults.
    public init(
      placement: Placement = Placement(),
      layout: ChunkLayout? = nil,
      context: Int? = nil,
      prefillShapes: [Int]? = nil,
      sharedLayers: TextDecoder.SharedLayers = .last,
      batches: BatchChoice = .smallest,
      engine: EngineOptions = EngineOptions(),
      threads: Int? = nil,
      gpu: GPUOptions = GPUOptions(),
      allowsFallback: Bool = true,
      faults: FaultPlan = FaultPlan(),
      overlaps: Bool = true
    ) {
      self.placement = placement
      self.layout = layout
      self.context = context
      self.prefillShapes = prefillShapes
      self.sharedLayers = sharedLayers
      self.batches = batches
      self.engine = engine
      self.threads = threads
      self.gpu = gpu
      self.allowsFallback = allowsFallback
      self.faults = faults
      self.overlaps = overlaps
    }
  }

  /// The model's folder.
  public let folder: ModelFolder
  /// Where each part runs.
  public let placement: Placement
  /// Cuts between the decoder's programs.
  public let layout: ChunkLayout
  /// Positions of the caches.
  public let context: Int
  /// Bytes of the process that were in memory when loading was over: what plans come on top of.
  let loadedByteCount: Int
  /// Nanoseconds that loading took.
  public let loadNanoseconds: Int
  /// What the user should know about the folder and the placement.
  public let warnings: [String]
  let store: ProgramStore
  private let shapes: CompiledShapes
  private let batch: Int
  private let registry: Registry
  /// Worker threads of each unit on the processor.
  let threads: Int
  private let sharedLayers: TextDecoder.SharedLayers
  private let batches: BatchChoice
  private let overlaps: Bool

  convenience init(_ folder: ModelFolder, _ options: LoadOptions) throws {
    try self.init(
      folder,
      options,
      registry: Registry(
        threads: options.threads ?? ProcessInfo.processInfo.activeProcessorCount,
        engine: options.engine,
        gpu: options.gpu,
        faults: options.faults
      )
    )
  }

  /// A model over units that others may use too.
  init(_ folder: ModelFolder, _ options: LoadOptions, registry: Registry) throws {
    let start = MonotonicClock.nanoseconds
    self.folder = folder
    let text = folder.model.configuration.text
    layout = options.layout ?? folder.layout
    context = options.context ?? folder.context
    sharedLayers = options.sharedLayers
    batches = options.batches
    overlaps = options.overlaps
    threads = options.threads ?? ProcessInfo.processInfo.activeProcessorCount
    let prefill = options.prefillShapes ?? folder.prefill
    try Self.check(layout: layout, context: context, prefill: prefill, text)
    batch = CompiledShapes.batch(prefill, context: context)
    self.registry = registry
    let check = try PlacementCheck(
      options.placement,
      model: folder.model,
      weights: folder.weights,
      layout: layout,
      registry: registry,
      allowsFallback: options.allowsFallback
    )
    placement = check.placement
    shapes = try CompiledShapes(
      placement,
      layout: layout,
      registry: registry,
      prefill: prefill,
      batch: batch
    )
    store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: placement,
      failures: UnitFailures(
        allowsFallback: options.allowsFallback,
        limitNanoseconds: options.faults.limitNanoseconds
      )
    )
    // Faults are counted by launches, which measuring would add to.
    let slow =
      options.faults.isEmpty
      ? try store.slowDeviceWarning(options, layout: layout, context: context, .measured) : []
    warnings = folder.warnings + check.warnings + slow
    loadedByteCount = HostMachine.residentByteCount
    loadNanoseconds = folder.openNanoseconds + MonotonicClock.nanoseconds - start
  }

  /// Checks cuts, context and token counts against a model.
  ///
  /// - Throws: `TroikaError.option` naming what does not fit.
  static func check(
    layout: ChunkLayout,
    context: Int,
    prefill: [Int],
    _ text: TextConfiguration
  ) throws(TroikaError) {
    guard !prefill.isEmpty, prefill.allSatisfy({ $0 > 0 }) else {
      throw .option(name: "prefill", expected: "numbers of at least 1", got: "\(prefill)")
    }
    guard context >= 2, context <= text.maximumPositions else {
      throw .option(
        name: "context",
        expected: "2 to \(text.maximumPositions)",
        got: "\(context)"
      )
    }
    guard layout.ranges.last?.upperBound == text.layers.count else {
      throw .option(
        name: "chunks",
        expected: "a last end of \(text.layers.count)",
        got: "\(layout.ranges.last?.upperBound ?? 0)"
      )
    }
  }

  /// Loads a bundle or a checkpoint folder in Hugging Face format; weights are mapped, not read.
  ///
  /// - Throws: where a file is missing or malformed, or a unit is not available.
  public static func load(
    model: URL,
    options: LoadOptions = LoadOptions()
  ) async throws -> Troika {
    try await blocking { try Troika(ModelFolder(path: model.path), options) }
  }

  /// Loads a model whose folder is open already.
  ///
  /// - Throws: where an option does not fit the model, or a unit is not available.
  public static func load(
    folder: ModelFolder,
    options: LoadOptions = LoadOptions()
  ) async throws -> Troika {
    try await blocking { try Troika(folder, options) }
  }

  /// Answers a request.
  ///
  /// - Parameters:
  ///   - request: the conversation.
  ///   - onText: called with each piece of text as it becomes final.
  ///   - onProgress: called before each piece of work that may take long.
  /// - Returns: the answer. Cancelling the task ends it early, which is no error.
  /// - Throws: where a medium cannot be read or the prompt does not fit.
  public func respond(
    to request: Request,
    onText: @escaping @Sendable (String) -> Void = { _ in },
    onProgress: @escaping @Sendable (RequestProgress) -> Void = { _ in }
  ) async throws -> Response {
    try await Conversation(self).respond(
      to: request,
      onText: onText,
      onProgress: onProgress
    )
  }

  func makeSession() throws -> DecoderSession {
    try DecoderSession(
      store: store,
      text: folder.model.text,
      layout: layout,
      placement: placement,
      context: context,
      batch: batch,
      fixedShapes: shapes.tokens,
      sharedLayers: sharedLayers,
      batches: batches
    )
  }

  /// What became of the numbers of the units that store fp16, since the model was loaded.
  public var health: [UnitHealth] { registry.health(of: placement.units) }

  /// Says which operation of an fp16 unit left the range of its numbers first, if any did.
  func addHealth(to response: inout Response) {
    for unit in health {
      guard let first = unit.firstUnhealthy else { continue }
      response.warnings.append(
        "\(unit.unit): \(first.name): \(first.overflows) results overflowed fp16, "
          + "\(first.nans) are NaN"
      )
    }
  }

  /// Operations that another unit ran than the one they were placed on.
  public var fallbacks: [Fallback] { store.fallbacks }

  func generator(_ callbacks: GenerationCallbacks) -> Generator {
    Generator(
      folder: folder,
      encoders: Encoders(
        store: store,
        model: folder.model,
        visionShapes: shapes.vision,
        audioShapes: shapes.audio
      ),
      context: context,
      overlaps: overlaps,
      callbacks: callbacks
    )
  }
}

/// Runs blocking work on a thread of its own.
func blocking<Result: Sendable>(
  _ work: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Swift.Result { try work() }) }
    thread.stackSize = 8 << 20
    thread.start()
  }
}
