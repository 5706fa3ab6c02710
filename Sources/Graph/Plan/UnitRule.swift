/// One thing a unit does not run, with where that is known from.
public struct UnitRule: Hashable, Sendable {
  /// What the rule looks at.
  public enum Check: Hashable, Sendable {
    /// Operations of these kinds.
    case kinds(Set<String>)
    /// Operations that read or make integers.
    case integers
    /// Tensors of more axes.
    case rank(atMost: Int)
    /// Tensors with a larger extent, by axis from the innermost; the last limit holds for all
    /// further axes. Operations whose columns do not depend on one another are taken in parts that
    /// fit: matrix products, and elementwise ones behind them.
    case extents(atMost: [Int])
    /// Attention over heads of any other width.
    case headWidth(multipleOf: Int)
    /// Results and operands that are no constants of more bytes.
    case valueByteCount(atMost: Int)
  }

  /// The rule in words.
  public let name: String
  /// Where it is known from.
  public let source: String
  /// What it looks at.
  public let check: Check

  /// A rule from its parts.
  public init(_ name: String, source: String, _ check: Check) {
    self.name = name
    self.source = source
    self.check = check
  }

  /// Whether the rule sends an operation away.
  func declines(_ node: Node, in graph: Graph) -> Bool {
    let types = [node.type] + node.inputs.map { graph.nodes[$0].type }
    switch check {
    case .kinds(let kinds): return kinds.contains(node.op.kind)
    case .integers: return types.contains { $0.dtype == .i32 }
    case .rank(let most): return types.contains { $0.shape.rank > most }
    case .headWidth(let step):
      return ["attention", "cachedAttention"].contains(node.op.kind)
        && node.type.shape.last % step != 0
    case .valueByteCount(let most):
      let operands = node.inputs.filter { !graph.isConstant($0) }.map { graph.nodes[$0].type }
      return ([node.type] + operands).contains { $0.byteCount > most }
    case .extents(let limits):
      let operands = [node.id] + node.inputs
      return operands.contains { id in
        // A row of a linear operation's weights makes a column of its result.
        let columns = node.op == .linear && id == node.inputs[1] && graph.isConstant(id) ? 1 : 0
        return graph.nodes[id].type.shape.extents.reversed().enumerated().contains { axis, extent in
          extent > limits[min(axis, limits.count - 1)]
            && !(axis == columns && node.op.splitsColumns)
        }
      }
    }
  }
}

/// What a unit does not compile as one program, whatever its operations.
public struct ProgramLimits: Hashable, Sendable {
  /// Bytes of weights at most.
  public var weightByteCount: Int?
  /// Decoder layers at most.
  public var decoderLayers: Int?
  /// Where the limits are known from.
  public var source: String

  /// Limits with their source; nil for none.
  public init(weightByteCount: Int? = nil, decoderLayers: Int? = nil, source: String = "") {
    self.weightByteCount = weightByteCount
    self.decoderLayers = decoderLayers
    self.source = source
  }

  /// Why a program is refused, or nil where it is not.
  public func refusal(of graph: Graph) -> String? {
    if let most = weightByteCount, graph.weightByteCount > most {
      return "programs of at most \(most) bytes of weights, this one has "
        + "\(graph.weightByteCount) (\(source))"
    }
    if let most = decoderLayers, graph.decoderLayerCount > most {
      return "programs of at most \(most) decoder layers, this one has "
        + "\(graph.decoderLayerCount) (\(source))"
    }
    return nil
  }
}

extension Op {
  /// Whether each column of the result can be made without the others.
  fileprivate var splitsColumns: Bool {
    switch self {
    case .linear, .unary, .binary, .affine, .clamp, .softcap, .gatedGelu: true
    default: false
    }
  }
}

/// How a unit keeps and adds numbers.
public struct UnitNumerics: Hashable, Sendable {
  /// What the sums of products, norms, softmax and reductions are kept in while they grow.
  public enum Accumulation: String, Hashable, Sendable, CaseIterable {
    /// f32, rounded once at the end.
    case f32
    /// fp16, rounded after every term, in order.
    case f16
  }

  /// The format every activation is stored in between operations.
  public var storage: DType
  /// What sums are kept in.
  public var accumulation: Accumulation
  /// Whether fp16 subnormals become zero when stored.
  public var flushesSubnormals: Bool

  /// Numerics from their parts.
  public init(
    storage: DType = .f32,
    accumulation: Accumulation = .f32,
    flushesSubnormals: Bool = false
  ) {
    self.storage = storage
    self.accumulation = accumulation
    self.flushesSubnormals = flushesSubnormals
  }
}

extension Graph {
  /// Bytes of all named constants, each once.
  public var weightByteCount: Int {
    nodes.reduce(0) { sum, node in
      if case .constant(.weight) = node.op { sum + node.type.byteCount } else { sum }
    }
  }

  /// Decoder layers whose operations the program holds, by their names `text.layers.N.…`.
  public var decoderLayerCount: Int {
    let layers = nodes.compactMap { node -> Substring? in
      let parts = node.name.split(separator: ".")
      return parts.count > 2 && parts[0] == "text" && parts[1] == "layers" ? parts[2] : nil
    }
    return Set(layers).count
  }
}
