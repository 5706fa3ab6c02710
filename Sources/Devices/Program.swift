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

  /// Runs the program once the moments have come; returns at once.
  ///
  /// - Returns: one moment a segment, the last of which is the program's end.
  /// - Throws: where a binding is absent or has another type.
  public func launch(
    _ bindings: [String: Value],
    after: [Moment] = []
  ) throws -> [Moment] {
    var bindings = bindings
    return try launch(&bindings, after: after)
  }

  /// Runs the program once the moments have come; returns at once.
  ///
  /// - Parameters:
  ///   - bindings: a value for every input and output; what crosses between segments joins them.
  ///   - after: moments to wait for.
  /// - Returns: one moment a segment, the last of which is the program's end.
  /// - Throws: where a binding is absent or has another type.
  public func launch(
    _ bindings: inout [String: Value],
    after: [Moment] = []
  ) throws -> [Moment] {
    var moments: [Moment] = []
    for (index, executable) in executables.enumerated() {
      for crossing in crossings[index] { bindings[crossing.name] = try Value(crossing.type) }
      moments.append(
        try executable.launch(bindings, after: moments.last.map { [$0] } ?? after)
      )
    }
    return moments
  }

  /// Runs the program and waits for it.
  ///
  /// - Returns: what ran when.
  /// - Throws: where a binding is absent or a launch failed.
  public func run(_ bindings: [String: Value]) throws -> [Timeline.Event] {
    try launch(bindings).map { try $0.wait() }
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
