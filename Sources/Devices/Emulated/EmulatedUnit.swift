public import Graph

/// A unit that is not here, computed on the processor with the numerics its profile states.
///
/// Activations are rounded to the profile's storage format after every operation; products and sums
/// are accumulated as the profile says. What the profile's rules decline does not compile.
public final class EmulatedUnit: ComputeUnit, HealthKeeping {
  /// What the unit runs and how it keeps numbers.
  public let profile: UnitProfile
  /// What happened while activations were rounded.
  public let health = HealthRecord()
  private let pool: WorkerPool
  private let arena = Arena()
  private let weights = HalfWeights()
  private let queue: UnitQueue

  /// A unit with this profile.
  ///
  /// - Parameters:
  ///   - profile: what it runs and how.
  ///   - threads: threads of the processor that work on one launch.
  ///   - processors: the processors they are pinned to; nil leaves that to the system.
  /// - Throws: `DeviceError.unavailable` where no thread can be had.
  public init(
    _ profile: UnitProfile,
    threads: Int,
    processors: [Int]? = nil
  ) throws(DeviceError) {
    self.profile = profile
    pool = try WorkerPool(threads: threads, processors: processors)
    queue = UnitQueue(unit: profile.unit, processor: processors?.first)
  }

  /// Compiles a segment as one program.
  ///
  /// - Throws: where a rule or a program limit refuses it, or a constant cannot be read.
  public func compile(
    _ segment: Segment,
    over source: any WeightSource
  ) throws -> any Executable {
    CPUExecutable(
      arena: arena,
      pool: pool,
      queue: queue,
      lowered: try lower(segment, source).finish()
    )
  }

  /// The segment's memory as `compile` would lay it out.
  ///
  /// - Throws: where a rule or a program limit refuses it.
  public func footprint(of segment: Segment) throws -> Footprint {
    try lower(segment, nil).footprint
  }

  private func lower(_ segment: Segment, _ source: (any WeightSource)?) throws -> CPULowering {
    try segment.graph.checkVerdicts(of: profile)
    if let refusal = profile.limits.refusal(of: segment.graph) {
      throw DeviceError.declined(
        unit: profile.unit.name,
        node: segment.graph.name,
        reason: refusal
      )
    }
    let isHalf = profile.numerics.storage == .f16
    let graph = isHalf ? try segment.graph.applying([HalfStorage()]) : segment.graph
    let rounding = HalfRounding(
      flushesSubnormals: profile.numerics.flushesSubnormals,
      accumulatesInHalf: profile.numerics.accumulation == .f16,
      health: health,
      weights: weights
    )
    return try CPULowering(graph, over: source, pool: pool, rounding: rounding)
  }

  /// Copies bytes.
  public func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    queue.submit("copy", after: after) {
      target.pointer.copyMemory(from: source.pointer, byteCount: source.type.byteCount)
    }
  }
}
