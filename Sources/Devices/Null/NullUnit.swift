public import Graph

/// Runs nothing: launches take no time and results stay as they are.
public struct NullUnit: ComputeUnit {
  private let queue = UnitQueue(unit: .null)

  /// The unit.
  public init() {}

  /// Everything is accepted.
  public let profile = UnitProfile(
    unit: .null,
    summary: "records launches, computes nothing",
    activationTypes: Set(DType.allCases),
    weightTypes: Set(DType.allCases)
  )

  /// Accepts any segment.
  public func compile(_ segment: Segment, over source: any WeightSource) -> any Executable {
    NullExecutable(graph: segment.graph, queue: queue)
  }

  /// Copies nothing.
  public func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    queue.submit("copy", after: after) {}
  }
}

private struct NullExecutable: Executable {
  let graph: Graph
  let queue: UnitQueue
  let footprint = Footprint()

  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
    try graph.check(bindings)
    return queue.submit(graph.name, after: after) {}
  }
}
