import Devices
public import Graph
public import Models

/// Simulates requests on one device: programs are traced once each.
///
/// Not shared between threads.
public final class DeviceSimulator {
  /// The device.
  public let profile: DeviceProfile
  private let book: WorkBook
  private let prices: PriceBook
  private let options: Troika.LoadOptions
  private let setting: RequestPrograms.Setting

  /// A simulator of a model on a device.
  ///
  /// - Parameters:
  ///   - planned: the model's shapes.
  ///   - options: cuts, context and token counts; the placement is given with each request.
  ///   - profile: the device.
  ///   - sharedLayers: for which positions the sharing layers run; nil for what the device does.
  ///   - batches: how prompts are dealt out; nil for what costs least.
  /// - Throws: where cuts, context or token counts do not fit the model.
  public init(
    _ planned: PlannedModel,
    _ options: Troika.LoadOptions,
    on profile: DeviceProfile,
    sharedLayers: TextDecoder.SharedLayers?,
    batches: BatchChoice?
  ) throws {
    self.profile = profile
    self.options = options
    let layout = options.layout ?? planned.layout
    let context = options.context ?? planned.context
    let prefill = options.prefillShapes ?? planned.prefill
    try Troika.check(
      layout: layout,
      context: context,
      prefill: prefill,
      planned.model.configuration.text
    )
    let registry = Registry(
      planningWith: options.threads ?? 1,
      engine: options.engine,
      gpu: options.gpu,
      hasGPU: false
    )
    book = WorkBook(planned, registry)
    prices = PriceBook(book, profile)
    setting = RequestPrograms.Setting(
      layout: layout,
      context: context,
      prefill: prefill,
      choice: batches,
      sharedLayers: sharedLayers ?? (profile.runsSharedLayersForAll ? .all : .last)
    )
  }

  /// Simulates one request.
  ///
  /// - Throws: where the prompt does not fit, or a unit is not part of the profile.
  public func simulate(_ request: RequestShape, _ asked: Placement) throws -> Simulation {
    try check(request)
    let checked = try check(asked)
    let placement = checked.placement
    let programs = try programs(placement)
    let best = try best(request, programs)
    var simulation = try best.simulation(
      request,
      placement: asked,
      byteCount: try byteCount(request, placement)
    )
    simulation.warnings = checked.warnings
    return simulation
  }

  /// Positions of the caches.
  public var context: Int { setting.context }

  /// Refuses a placement that no request could run with.
  ///
  /// - Parameter placement: where each part runs.
  /// - Throws: where a key means nothing in the model, or a unit refuses what has to run there.
  public func validate(_ placement: Placement) throws { _ = try check(placement) }

  /// The number of the decoder's programs.
  var chunkCount: Int { setting.layout.ranges.count }

  /// Nanoseconds to the first token, and nothing else; the placement's programs are ones that their
  /// units compile.
  ///
  /// - Throws: where the prompt does not fit, or a unit is not part of the profile.
  public func firstToken(_ request: RequestShape, _ placement: Placement) throws -> Int {
    try check(request)
    return try best(request, try programs(placement)).firstTokenNanoseconds
  }

  /// What runs up to the first token.
  func promptTimeline(_ request: RequestShape, _ placement: Placement) throws -> Timeline {
    try best(request, try programs(placement)).timeline
  }

  /// What runs in a decode step in the middle of the answer.
  func stepTimeline(_ request: RequestShape, _ placement: Placement) throws -> Timeline {
    let position = min(request.promptTokens + request.maxTokens / 2, setting.context - 1)
    let plan = try RequestPlan(step: position, try programs(placement))
    return Simulator(profile.resources).timeline(plan.graph, plan.tasks.map(\.awake))
  }

  /// The programs of a placement.
  func programs(_ placement: Placement) throws -> RequestPrograms {
    try RequestPrograms(prices, placement, setting)
  }

  /// The schedule of a request: batches end before media where another unit encodes them than the one
  /// that takes the tokens in front of them, and where that costs little.
  private func best(_ request: RequestShape, _ programs: RequestPrograms) throws -> RequestSchedule
  {
    let (cut, whole) = try (
      programs.batches(request, cutsAtMedia: true), programs.batches(request, cutsAtMedia: false)
    )
    let cuts =
      cut.count > whole.count
      && PromptBatches.isWorth(cut: cut.map(\.shape), whole: whole.map(\.shape))
    return try schedule(request, programs, cutsAtMedia: cuts)
  }

  /// Refuses a prompt that leaves no room to generate.
  private func check(_ request: RequestShape) throws(TroikaError) {
    guard request.promptTokens < setting.context else {
      throw .promptTooLong(tokens: request.promptTokens, context: setting.context, detail: "")
    }
    guard request.promptTokens > 0 else { throw .emptyPrompt }
    guard request.maxTokens > 0 else {
      throw .option(name: "max-tokens", expected: "at least 1", got: "\(request.maxTokens)")
    }
  }

  /// What becomes of a placement with the units' limits.
  func check(_ placement: Placement) throws -> PlacementCheck {
    try PlacementCheck(
      placement,
      model: book.planned.model,
      weights: book.planned.weights,
      layout: setting.layout,
      registry: book.registry,
      allowsFallback: options.allowsFallback
    )
  }

  /// Bytes of a request at most: what the plans of its programs say.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - placement: where each part runs.
  ///   - phase: only programs of this phase; nil for all.
  /// - Returns: the bytes.
  /// - Throws: where a program cannot be traced.
  func byteCount(
    _ request: RequestShape,
    _ placement: Placement,
    _ phase: Part.Phase? = nil
  ) throws -> Int {
    let programs = try programs(placement)
    var forecast = MemoryForecast()
    var caches: [String: Int] = [:]
    for key in try programs.keys(request, phase) {
      let plan = try book.memory(key, placement)
      forecast.add(plan.graph, plan.parts)
      for output in plan.graph.outputs where output.isState {
        caches[output.name] = plan.graph.nodes[output.node].type.byteCount
      }
    }
    let rows = min(setting.context, request.promptTokens + request.maxTokens)
    let converted = profile.convertsWeights ? 0 : forecast.convertedByteCount
    return forecast.byteCount - converted + forecast.tableByteCount(rows: rows)
      + caches.values.reduce(0, +)
  }

  private func schedule(
    _ request: RequestShape,
    _ programs: RequestPrograms,
    cutsAtMedia: Bool
  ) throws -> RequestSchedule {
    try RequestSchedule(
      try RequestPlan(request, programs, cutsAtMedia: cutsAtMedia),
      programs,
      cutsAtMedia: cutsAtMedia
    )
  }
}
