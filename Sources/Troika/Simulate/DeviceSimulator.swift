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
    let placement = try allowed(asked)
    let programs = try RequestPrograms(book, placement, profile, setting)
    var best = try schedule(request, programs, cutsAtMedia: false)
    if request.mediaRanges.contains(where: { $0.range.lowerBound >= RequestShape.leastBatch }) {
      let other = try schedule(request, programs, cutsAtMedia: true)
      if other.firstTokenNanoseconds < best.firstTokenNanoseconds { best = other }
    }
    return try best.simulation(request, placement: asked)
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

  /// The placement without programs that their unit refuses.
  private func allowed(_ placement: Placement) throws -> Placement {
    try PlacementCheck(
      placement,
      model: book.planned.model,
      weights: book.planned.weights,
      layout: setting.layout,
      registry: book.registry,
      allowsFallback: options.allowsFallback
    ).placement
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
