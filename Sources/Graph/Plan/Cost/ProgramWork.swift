/// What one launch of a program's part asks of the unit it is on, in the terms that units are
/// rated by.
public struct ProgramWork: Hashable, Sendable {
  /// Matrix products of one weight format and number of rows.
  public struct Product: Hashable, Sendable {
    /// The weights' format; nil where both operands are values.
    public let weights: DType?
    /// Rows of the operand that is no weight.
    public let rows: Int
    /// Floating-point operations, a multiply-add counted as two.
    public var flops: Int
    /// Bytes of the weights, as stored.
    public var weightByteCount: Int
  }

  /// Attention operations over caches of one length.
  public struct Attention: Hashable, Sendable {
    /// Rows of queries.
    public let rows: Int
    /// Rows of the cache; 0 where there is none.
    public let cacheRows: Int
    /// Bytes of one operation's cache, keys and values.
    public let cacheByteCount: Int
    /// How many operations.
    public var count: Int
    /// Floating-point operations over the rows of the launch itself.
    public var flops: Int
    /// Floating-point operations over the whole cache.
    public var cacheFlops: Int
  }

  /// Matrix products, merged by format and rows.
  public var products: [Product] = []
  /// Attention, merged by the length of its cache.
  public var attention: [Attention] = []
  /// Floating-point operations of convolutions.
  public var convolutionFlops = 0
  /// Floating-point operations of everything else.
  public var otherFlops = 0
  /// Bytes that everything but products and attention reads and writes.
  public var valueByteCount = 0
  /// Operations that a unit computes.
  public var operations = 0
  /// Bytes of states that the part makes the next value of, as they lie in memory.
  public var updatedStates: [Int] = []

  /// No work.
  public init() {}

  /// The work of those nodes of a graph that a condition picks.
  public init(_ graph: Graph, where isPicked: (Node) -> Bool = { _ in true }) {
    for node in graph.nodes where !node.isSource && isPicked(node) && !graph.isConstant(node.id) {
      add(node, in: graph)
    }
    let picked = Set(graph.nodes.filter { !$0.isSource && isPicked($0) }.map(\.id))
    updatedStates = graph.outputs.filter { $0.isState && picked.contains($0.node) }
      .map { graph.nodes[$0.node].type.byteCount }
  }

  /// Bytes of weights that one launch reads.
  public var weightByteCount: Int { products.reduce(0) { $0 + $1.weightByteCount } }

  /// All floating-point operations.
  public var flops: Int {
    products.reduce(0) { $0 + $1.flops }
      + attention.reduce(0) { $0 + $1.flops + $1.cacheFlops } + convolutionFlops + otherFlops
  }

  private mutating func add(_ node: Node, in graph: Graph) {
    let inputs = node.inputs.map { graph.nodes[$0].type }
    let cost = node.op.cost(inputs: inputs, result: node.type)
    if graph.isOperation(node) { operations += 1 }
    switch node.op {
    case .linear, .matmul: addProduct(node, cost, in: graph)
    case .attention, .bandedAttention:
      addAttention(rows: node.type.shape[0], cache: nil, flops: cost.flops, cacheFlops: 0)
    case .cachedAttention(_, let window):
      let (past, new) = (inputs[1].shape[0], inputs[3].shape[0])
      let seen = min(past + new, window ?? past + new)
      addAttention(node, past: past, seen: seen, cost, cache: (inputs[1], inputs[2]))
    case .maskedAttention where inputs.count > 4:
      let (past, new) = (inputs[1].shape[0], inputs[3].shape[0])
      addAttention(node, past: past, seen: past + new, cost, cache: (inputs[1], inputs[2]))
    case .maskedAttention:
      addAttention(rows: node.type.shape[0], cache: nil, flops: cost.flops, cacheFlops: 0)
    case .conv2D, .causalDepthwiseConv:
      convolutionFlops += cost.flops
      valueByteCount += cost.bytesRead + cost.bytesWritten
    default:
      otherFlops += cost.flops
      valueByteCount += cost.bytesRead + cost.bytesWritten
    }
  }

  private mutating func addProduct(_ node: Node, _ cost: Cost, in graph: Graph) {
    let weights = node.inputs.filter { graph.isConstant($0) }.map { graph.nodes[$0].type }
    let rows = node.type.shape.elementCount / max(node.type.shape.last, 1)
    let bytes = weights.reduce(0) { $0 + $1.byteCount }
    let format = weights.first?.dtype
    if let index = products.firstIndex(where: { $0.weights == format && $0.rows == rows }) {
      products[index].flops += cost.flops
      products[index].weightByteCount += bytes
    } else {
      products.append(
        Product(weights: format, rows: rows, flops: cost.flops, weightByteCount: bytes)
      )
    }
  }

  private mutating func addAttention(
    _ node: Node,
    past: Int,
    seen: Int,
    _ cost: Cost,
    cache: (TensorType, TensorType)
  ) {
    let part = Double(min(past, seen)) / Double(max(seen, 1))
    let cacheFlops = Int(Double(cost.flops) * part)
    addAttention(
      rows: node.type.shape[0],
      cache: (past, cache.0.byteCount + cache.1.byteCount),
      flops: cost.flops - cacheFlops,
      cacheFlops: cacheFlops
    )
  }

  private mutating func addAttention(
    rows: Int,
    cache: (rows: Int, byteCount: Int)?,
    flops: Int,
    cacheFlops: Int
  ) {
    let (cacheRows, bytes) = (cache?.rows ?? 0, cache?.byteCount ?? 0)
    let known = attention.firstIndex {
      $0.rows == rows && $0.cacheRows == cacheRows && $0.cacheByteCount == bytes
    }
    if let known {
      attention[known].count += 1
      attention[known].flops += flops
      attention[known].cacheFlops += cacheFlops
    } else {
      attention.append(
        Attention(
          rows: rows,
          cacheRows: cacheRows,
          cacheByteCount: bytes,
          count: 1,
          flops: flops,
          cacheFlops: cacheFlops
        )
      )
    }
  }
}
