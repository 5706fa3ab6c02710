import CKernels
import Graph

/// The step that runs one operation.
enum CPUSteps {
  static func make(
    _ node: Node,
    in graph: Graph,
    rounding: HalfRounding? = nil,
    stores: HealthRecord? = nil
  ) throws(DeviceError) -> any CPUStep {
    if node.op == .cast(.f32) {
      let isStored = graph.nodes[node.inputs[0]].op == .input
      if !isStored, let rounding { return RowStepMaker(node, in: graph).rounded(rounding) }
      if isStored, graph.nodes[node.inputs[0]].type.dtype == .f16 { return WidenStep(node) }
    }
    guard reads(node, in: graph) else {
      throw .declined(unit: "cpu", node: node.name, reason: "no kernel for \(node.type)")
    }
    if let row = RowStepMaker(node, in: graph, rounding: rounding).make() { return row }
    let isHalf = rounding?.accumulatesInHalf ?? false
    switch node.op {
    case .linear: return LinearStep(node, in: graph, LinearArithmetic(rounding))
    case .attention, .cachedAttention: return AttentionStep(node, in: graph)
    case .maskedAttention(let scale): return MaskedAttentionStep(node, in: graph, scale: scale)
    case .bandedAttention: return BandedAttentionStep(node, in: graph)
    case .cacheUpdate: return CacheUpdateStep(node, in: graph, stores: stores)
    case .matmul(let transposed):
      return MatmulStep(node, in: graph, transposed: transposed, isHalf: isHalf)
    case .attentionMask, .countMask: return MaskStep(node)
    case .gather: return GatherStep(node, in: graph)
    case .rotaryTable: return RotaryTableStep(node, in: graph)
    case .conv2D(let stride, let padding):
      return ConvolutionStep(node, in: graph, stride: stride, padding: padding)
    case .causalDepthwiseConv: return DepthwiseStep(node, in: graph)
    case .binary(let kind): return BroadcastStep(node, in: graph, kind)
    case .reduce(let kind, let axis):
      return ReduceStep(node, graph.nodes[node.inputs[0]], kind, axis, isHalf: isHalf)
    case .slice, .concat, .pad, .transpose:
      if let step = MovementSteps.make(node, in: graph) { return step }
    default: break
    }
    throw .declined(unit: "cpu", node: node.name, reason: "no kernel for \(node.op.text)")
  }
}

extension CPUSteps {
  /// Whether the formats of an operation's values are ones that its kernel takes: f32 and integers,
  /// any format for matrices and tables, f16 for caches.
  private static func reads(_ node: Node, in graph: Graph) -> Bool {
    switch node.op {
    case .linear, .gather: return true
    case .cacheUpdate:
      return [.f32, .f16].contains(node.type.dtype)
        && graph.nodes[node.inputs[1]].type.dtype == .f32
    default: break
    }
    let caches: [Int] =
      switch node.op {
      case .cachedAttention: [node.inputs[1], node.inputs[2]]
      case .maskedAttention where node.inputs.count > 4: [node.inputs[1], node.inputs[2]]
      default: []
      }
    return ([node.id] + node.inputs).allSatisfy { id in
      let type = graph.nodes[id].type
      return type.dtype == .f32 || type.dtype == .i32 || isBound(type, node, graph)
        || (type.dtype == .f16 && caches.contains(id))
    }
  }

  /// Whether a type that is not f32 belongs to a constant, which is f32 by the time it is read.
  private static func isBound(_ type: TensorType, _ node: Node, _ graph: Graph) -> Bool {
    node.inputs.contains { graph.nodes[$0].type == type && graph.isConstant($0) }
  }
}

extension DType {
  /// The kernels' name of the format.
  var kernelFormat: tk_format {
    switch self {
    case .f32, .i32: TK_F32
    case .f16: TK_F16
    case .bf16: TK_BF16
    case .int8Block32: TK_INT8_BLOCK32
    case .int8Row: TK_INT8_ROW
    case .int4Block32: TK_INT4_BLOCK32
    case .int4Palette32: TK_INT4_PALETTE32
    }
  }
}

/// How a linear layer's products are added.
enum LinearArithmetic: Sendable {
  /// In f32, activations as they are.
  case exact
  /// Quantised weights in 16-bit fixed point, all else in f32.
  case fixed
  /// Term by term in fp16.
  case half

  /// The processor's own, or that of a unit which rounds to fp16.
  init(_ rounding: HalfRounding?) {
    guard let rounding else {
      self = .fixed
      return
    }
    self = rounding.accumulatesInHalf ? .half : .exact
  }
}

struct LinearStep: CPUStep {
  let node: Int
  private let input: Int
  private let weight: Int
  private let bias: Int?
  private let rows: Int
  private let weightType: TensorType
  private let arithmetic: LinearArithmetic
  var scratchOffset = 0

  /// Most rows that meet weights as they lie.
  private static let mostRows = Int(tk_linear_dot_limit())

  init(_ node: Node, in graph: Graph, _ arithmetic: LinearArithmetic) {
    self.arithmetic = arithmetic
    self.node = node.id
    input = node.inputs[0]
    weight = node.inputs[1]
    bias = node.inputs.count > 2 ? node.inputs[2] : nil
    rows = node.type.shape.rowCount
    let type = graph.nodes[weight].type
    weightType = graph.readsAsMatrix(weight) ? type : TensorType(.f32, type.shape)
  }

  private func matrix(_ data: UnsafeRawPointer?) -> tk_matrix {
    tk_matrix(
      data: data,
      format: weightType.dtype.kernelFormat,
      rows: weightType.shape[0],
      columns: weightType.shape[1]
    )
  }

  func scratchByteCount(_ pool: WorkerPool) -> Int {
    var matrix = matrix(nil)
    return switch arithmetic {
    case .fixed: tk_linear_fixed_scratch(pool.handle, rows, &matrix)
    case .exact: tk_linear_scratch(pool.handle, rows, &matrix)
    case .half: tk_linear_half_scratch(pool.handle)
    }
  }

  func run(_ frame: Frame) {
    var matrix = matrix(frame)
    let product =
      switch arithmetic {
      case .fixed: tk_linear_fixed
      case .exact: tk_linear
      case .half: tk_linear_half
      }
    product(
      frame.pool.handle,
      frame.floats(input),
      rows,
      &matrix,
      bias.map { UnsafePointer(frame.floats($0)) },
      frame.floats(node),
      frame.arena + scratchOffset
    )
  }
}

extension LinearStep {
  /// For each step that is a linear layer the next one, where that reads its weights as they lie.
  static func successors(in steps: [any CPUStep]) -> [LinearStep?] {
    var next: LinearStep?
    return steps.reversed().map { step -> LinearStep? in
      guard let linear = step as? LinearStep else { return nil }
      defer { next = linear.readingAsStored }
      return next
    }.reversed()
  }

  /// The step itself where it reads its weights as they lie, nil where it unpacks them.
  var readingAsStored: LinearStep? { rows <= Self.mostRows ? self : nil }

  /// The weights.
  func matrix(_ frame: Frame) -> tk_matrix { matrix(frame.raw(weight)) }
}

struct GatherStep: CPUStep {
  let node: Int
  private let table: Int
  private let ids: Int
  private let tableType: TensorType
  private let count: Int
  /// Whether the table may lie in a file.
  private let isMapped: Bool
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph) {
    self.node = node.id
    table = node.inputs[0]
    ids = node.inputs[1]
    isMapped = graph.isConstant(table)
    tableType = graph.nodes[table].type
    count = node.type.shape[0]
  }

  func run(_ frame: Frame) {
    var matrix = tk_matrix(
      data: frame.raw(table),
      format: tableType.dtype.kernelFormat,
      rows: tableType.shape[0],
      columns: tableType.shape.elementCount / max(tableType.shape[0], 1)
    )
    if isMapped { tk_ask_rows(&matrix, frame.integers(ids), count) }
    tk_gather(&matrix, frame.integers(ids), count, frame.floats(node))
  }
}

struct RotaryTableStep: CPUStep {
  let node: Int
  private let positions: Int
  private let rates: Int
  private let shape: Shape
  private let pairs: Int
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph) {
    self.node = node.id
    positions = node.inputs[0]
    rates = node.inputs[1]
    shape = graph.nodes[positions].type.shape
    pairs = graph.nodes[rates].type.shape[0]
  }

  func run(_ frame: Frame) {
    tk_rotary_table(
      frame.integers(positions),
      shape[0],
      shape[1],
      frame.floats(rates),
      pairs,
      frame.floats(node)
    )
  }
}

struct ConvolutionStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private var problem = tk_conv()
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph, stride: Int, padding: Int) {
    self.node = node.id
    inputs = node.inputs
    let image = graph.nodes[inputs[0]].type.shape
    let weight = graph.nodes[inputs[1]].type.shape
    problem.height = image[0]
    problem.width = image[1]
    problem.channels = image[2]
    problem.outputs = weight[0]
    problem.kernelHeight = weight[2]
    problem.kernelWidth = weight[3]
    problem.stride = stride
    problem.padding = padding
  }

  func scratchByteCount(_ pool: WorkerPool) -> Int {
    var problem = problem
    return tk_conv_scratch(pool.handle, &problem)
  }

  func run(_ frame: Frame) {
    var problem = problem
    problem.x = UnsafePointer(frame.floats(inputs[0]))
    problem.weight = UnsafePointer(frame.floats(inputs[1]))
    problem.y = frame.floats(node)
    tk_conv2d(frame.pool.handle, &problem, frame.arena + scratchOffset)
  }
}

struct DepthwiseStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private let shape: Shape
  private let taps: Int
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph) {
    self.node = node.id
    inputs = node.inputs
    shape = node.type.shape
    taps = graph.nodes[inputs[1]].type.shape.last
  }

  func run(_ frame: Frame) {
    tk_depthwise(
      frame.pool.handle,
      frame.floats(inputs[0]),
      frame.floats(inputs[1]),
      frame.floats(node),
      shape[0],
      shape[1],
      taps
    )
  }
}
