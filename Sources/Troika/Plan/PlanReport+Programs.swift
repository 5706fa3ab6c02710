import Devices
import Graph
import Models

extension PlanReport {
  /// Plans every program of a model.
  ///
  /// - Parameters:
  ///   - planned: the model.
  ///   - options: placement, cuts, shapes and switches.
  /// - Throws: where a unit is not available, a key of the placement fits nothing, or a program is
  ///   refused and must not move.
  public init(_ planned: PlannedModel, _ options: Troika.LoadOptions) throws {
    let text = planned.model.configuration.text
    let layout = options.layout ?? planned.layout
    let context = options.context ?? planned.context
    let prefill = options.prefillShapes ?? planned.prefill
    try Troika.check(layout: layout, context: context, prefill: prefill, text)
    let batch = CompiledShapes.batch(prefill, context: context)
    let registry = Registry(
      planningWith: options.threads ?? 1,
      engine: options.engine,
      gpu: options.gpu
    )
    let check = try PlacementCheck(
      options.placement,
      model: planned.model,
      weights: planned.weights,
      layout: layout,
      registry: registry,
      allowsFallback: options.allowsFallback
    )
    let shapes = try CompiledShapes(
      check.placement,
      layout: layout,
      registry: registry,
      prefill: prefill,
      batch: batch
    )
    let tokens = shapes.tokens.isEmpty ? Array(Set([1, batch])).sorted() : shapes.tokens
    var builder = PlanBuilder(planned, check, registry)
    let decoder = try DecoderPrograms(
      in: builder.store,
      text: planned.model.text,
      layout: layout,
      placement: check.placement,
      context: context,
      batch: batch,
      hasFixedShapes: !shapes.tokens.isEmpty,
      sharedLayers: options.sharedLayers
    )
    for key in Self.keys(planned.model, decoder, tokens) { try builder.add(key) }
    placement = check.wanted
    chunks = layout.ranges.map(\.upperBound)
    self.context = context
    self.tokens = tokens
    sharedLayers = options.sharedLayers
    engine = options.engine
    programs = builder.programs
    fallbacks = builder.fallbacks
    shares = builder.shares
    memory = builder.memory(context: context)
    warnings = try builder.warnings(options, layout: layout, context: context)
  }

  /// Every program that requests may need, without repetition.
  private static func keys(
    _ model: Gemma4,
    _ decoder: DecoderPrograms,
    _ tokens: [Int]
  ) -> [ProgramStore.Key] {
    var keys: [ProgramStore.Key] = []
    keys += (model.vision?.configuration.buckets ?? []).map { .vision(patches: $0, taps: []) }
    keys += (model.audio == nil ? [] : AudioConfiguration.buckets).map {
      .audio(frames: $0, taps: [])
    }
    keys += tokens.map { .embed(tokens: $0) }
    keys += decoder.keys(tokens: 1, .decode)
    for count in tokens where count > 1 { keys += decoder.keys(tokens: count, .prefill) }
    var seen: Set<ProgramStore.Key> = []
    return keys.filter { seen.insert($0).inserted }
  }
}

extension ProgramStore.Key {
  /// The program's name with its shape.
  func name(_ graph: Graph) -> String {
    switch self {
    case .vision(let patches, _): "vision\(patches)"
    case .audio(let frames, _): "audio\(frames)"
    case .embed(let tokens): "embed\(tokens)"
    case .head(_, let phase, _): "head.\(phase.rawValue)"
    case .chunk: graph.name
    }
  }
}
