public import Graph

/// A graph compiled for the units its operations are placed on.
public final class Program: Sendable {
  /// The graph as it was placed.
  public let graph: Graph
  /// Its segments in order.
  public let segments: [Segment]
  private let executables: [any Executable]
  private let crossings: [[(name: String, type: TensorType)]]

  /// Compiles a graph.
  ///
  /// - Parameters:
  ///   - graph: the program, passes done.
  ///   - source: its constants.
  ///   - units: the units that may be named.
  ///   - place: where each operation runs.
  /// - Throws: where a unit is absent or declines an operation.
  public init(
    _ graph: Graph,
    over source: any WeightSource,
    units: Registry,
    placing place: (Node) -> UnitID
  ) throws {
    self.graph = graph
    segments = try graph.segments(placing: place)
    executables = try segments.map { try units.compile($0, over: source) }
    work = segments.map(\.graph.work)
    let named = Set(graph.outputs.map(\.name))
    crossings = segments.map { segment in
      segment.graph.outputs.filter { !named.contains($0.name) }
        .map { ($0.name, segment.graph.nodes[$0.node].type) }
    }
  }

  /// Operations and bytes of each segment's launch, added up.
  public let work: [Int]

  /// The segments in order, each with its memory.
  public var parts: [(segment: Segment, footprint: Footprint)] {
    zip(segments, executables).map { ($0, $1.footprint) }
  }

  /// Runs one segment to its end, on the calling thread where its unit does that.
  ///
  /// - Parameters:
  ///   - index: which, once those before it are over.
  ///   - bindings: a value for every input and output; what crosses between segments joins them.
  ///   - wait: waits for a launch where there is one.
  /// - Returns: when it ran.
  /// - Throws: where a binding is absent or has another type, or the launch failed.
  public func run(
    segment index: Int,
    _ bindings: inout [String: Value],
    wait: (Moment) throws -> Timeline.Event
  ) throws -> Timeline.Event {
    for crossing in crossings[index] { bindings[crossing.name] = try Value(crossing.type) }
    if let event = try executables[index].runHere(bindings) { return event }
    return try wait(executables[index].launch(bindings, after: []))
  }

  /// Runs the program to its end.
  ///
  /// - Returns: what ran when.
  /// - Throws: where a binding is absent or a launch failed.
  public func run(_ bindings: [String: Value]) throws -> [Timeline.Event] {
    var bindings = bindings
    return try segments.indices.map { index in
      try run(segment: index, &bindings) { try $0.wait() }
    }
  }

  /// New memory for every output that is not bound yet.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public func allocateOutputs(except bound: [String: Value] = [:]) throws -> [String: Value] {
    var values: [String: Value] = [:]
    for output in graph.outputs where bound[output.name] == nil {
      values[output.name] = try Value(graph.nodes[output.node].type)
    }
    return values
  }
}

extension Graph {
  /// Floating-point operations and bytes of one run, added up.
  var work: Int {
    nodes.reduce(0) { sum, node in
      let cost = node.op.cost(inputs: node.inputs.map { nodes[$0].type }, result: node.type)
      return sum + cost.flops + cost.bytesRead + cost.bytesWritten
    }
  }
}
