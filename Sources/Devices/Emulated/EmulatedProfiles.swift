public import Graph

extension UnitProfile {
  /// A fixed-shape fp16 engine, after what is published about the neural engine of phones.
  public static let neuralEngine = neuralEngine(EngineOptions())

  /// The same engine with switches that differ.
  public static func neuralEngine(_ options: EngineOptions) -> UnitProfile {
    var limits = ProgramLimits(
      weightByteCount: 1_000_000_000,
      decoderLayers: 21,
      source: "CHUNK_CONSOLIDATION_BENCH.md"
    )
    if let limit = options.programBytes { limits.weightByteCount = limit.value }
    if let limit = options.layers { limits.decoderLayers = limit.value }
    return UnitProfile(
      unit: .neuralEngine,
      summary: "emulated fixed-shape fp16 engine",
      activationTypes: [.f32, .f16],
      weightTypes: [
        .f32, .f16, .bf16, .int8Block32, .int8Row, .int4Block32, .int4Palette32,
      ],
      rules: engineRules,
      limits: limits,
      numerics: UnitNumerics(
        storage: .f16,
        accumulation: options.accumulation ?? .f32,
        flushesSubnormals: options.flushesSubnormals ?? false
      ),
      needsFixedShapes: true
    )
  }

  private static let engineRules: [UnitRule] = [
    UnitRule(
      "data-dependent gather is not available",
      source: "PROBE_GEMMA4_VISION_ANE.md",
      .kinds(["gather"])
    ),
    UnitRule(
      "argmax and integer operations fall back to the CPU",
      source: "EXPERIMENTS.md",
      .integers
    ),
    UnitRule("argmax falls back to the CPU", source: "EXPERIMENTS.md", .kinds(["argmax"])),
    UnitRule(
      "tensor rank at most 5",
      source: "microsoft/onnxruntime issue 14212",
      .rank(atMost: 5)
    ),
    UnitRule(
      "extents W, H, D at most 16384, C and N at most 65536",
      source: "FluidInference/FluidAudio issue 121",
      .extents(atMost: [16_384, 16_384, 16_384, 65_536])
    ),
  ]

  /// A GPU's numerics: fp16 storage, f32 accumulation, no limits of shape.
  public static let emulatedGPU = UnitProfile(
    unit: .emulatedGPU,
    summary: "a GPU's numerics on the processor: fp16 storage, f32 accumulation",
    activationTypes: [.f32, .f16, .i32],
    weightTypes: Set(DType.allCases),
    rules: [
      UnitRule("argmax is done while sampling", source: "this project", .kinds(["argmax"]))
    ],
    numerics: UnitNumerics(storage: .f16)
  )
}
