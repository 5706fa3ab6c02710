/// Values that go from one unit's memory to another's in one launch.
public struct Crossing: Hashable, Sendable {
  /// The unit that makes them; `cpu` for what the host hands in.
  public let from: UnitID
  /// The unit that reads them; `cpu` for what the host takes back.
  public let to: UnitID
  /// Their bytes.
  public var byteCount: Int

  /// A crossing from its parts.
  public init(from: UnitID, to: UnitID, byteCount: Int) {
    self.from = from
    self.to = to
    self.byteCount = byteCount
  }
}

extension Node {
  /// Whether the host does this wherever the program runs: masks and cache writes.
  public var isHostWork: Bool {
    switch op {
    case .attentionMask, .countMask, .cacheUpdate: true
    default: false
    }
  }
}

extension Graph {
  /// Whether a node is something that a unit computes.
  public func isOperation(_ node: Node) -> Bool {
    if node.isSource || node.isHostWork || isConstant(node.id) { return false }
    if case .reshape = node.op { return false }
    return true
  }

  /// What one launch of the graph in segments moves between units, sorted by unit; inputs and
  /// results lie with the processor.
  public func crossings(_ segments: [Segment]) -> [Crossing] {
    var makers: [String: UnitID] = [:]
    var moved: Set<String> = []
    var bytes: [[UnitID]: Int] = [:]
    func move(_ name: String, _ type: TensorType, _ from: UnitID, _ to: UnitID) {
      guard from != to, moved.insert("\(to) \(name)").inserted else { return }
      bytes[[from, to], default: 0] += type.byteCount
    }
    for segment in segments {
      for input in segment.graph.inputs {
        move(input.name, input.type, makers[input.name] ?? .cpu, segment.unit)
      }
      for output in segment.graph.outputs { makers[output.name] = segment.unit }
    }
    for output in outputs {
      move("result " + output.name, nodes[output.node].type, makers[output.name] ?? .cpu, .cpu)
    }
    return bytes.sorted { $0.key.map(\.name).lexicographicallyPrecedes($1.key.map(\.name)) }
      .map { Crossing(from: $0.key[0], to: $0.key[1], byteCount: $0.value) }
  }
}
