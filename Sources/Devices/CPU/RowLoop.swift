import CKernels
import Graph

/// A run of row operations: each task takes some rows through all of them while they are in cache.
struct RowLoop: CPUStep {
  private(set) var steps: [RowStep]
  var scratchOffset = 0

  init(_ first: RowStep) { steps = [first] }

  var node: Int { steps[steps.count - 1].node }
  var results: [Int] { steps.map(\.node) }

  /// Whether a step may join: same rows, and nothing it reads as a whole is made in this loop.
  func accepts(_ step: RowStep, bases: [Int]) -> Bool {
    step.rows == steps[0].rows
      && !steps.contains { made in step.wholeOperands.contains { bases[$0] == made.node } }
  }

  mutating func append(_ step: RowStep) { steps.append(step) }

  func run(_ frame: Frame) {
    let rows = steps[0].rows
    let widest = steps.map(\.rowByteCount).max() ?? 1
    let perTask = max(1, min(64, (96 << 10) / max(widest, 1)))
    let balanced = max(1, min(perTask, rows / (2 * frame.pool.threads)))
    frame.pool.run((rows + balanced - 1) / balanced) { task in
      let range = task * balanced..<min(rows, (task + 1) * balanced)
      for step in steps { step.body(frame, range) }
    }
  }
}

/// One operation that makes each outermost row of its result from the same rows of its operands.
struct RowStep: CPUStep {
  let node: Int
  /// Extent of the outermost axis.
  let rows: Int
  /// Bytes of one such row of the result.
  let rowByteCount: Int
  /// Whether the result may take its first operand's memory.
  let overwrites: Bool
  /// Operands of which every row is read for each row of the result.
  let wholeOperands: [Int]
  let body: (Frame, Range<Int>) -> Void
  var scratchOffset = 0

  func run(_ frame: Frame) { body(frame, 0..<rows) }
}

/// Makes the row form of an operation, or nil where it has none.
struct RowStepMaker {
  let node: Node
  let graph: Graph
  private let rounding: HalfRounding?

  init(_ node: Node, in graph: Graph, rounding: HalfRounding? = nil) {
    self.node = node
    self.graph = graph
    self.rounding = rounding
  }

  /// Where sums are kept in fp16: what becomes of those that leave its range.
  private var halfSums: ((UInt32) -> Void)? {
    guard let rounding, rounding.accumulatesInHalf else { return nil }
    return { [name = node.name] overflows in
      guard overflows > 0 else { return }
      var counts = tk_health()
      counts.overflows = overflows
      rounding.health.add(counts, to: name)
    }
  }

  func make() -> RowStep? {
    switch node.op {
    case .unary(let kind):
      let kind = kind.kernel
      return elementwise { table, x, y, count in table.unary(kind, x, y, count) }
    case .affine(let scale, let offset):
      return elementwise { table, x, y, count in table.affine(x, y, scale, offset, count) }
    case .clamp(let lower, let upper):
      return elementwise { table, x, y, count in table.clamp(x, y, lower, upper, count) }
    case .softcap(let cap):
      return elementwise { table, x, y, count in table.softcap(x, y, cap, count) }
    case .gatedGelu: return gated()
    case .binary(let kind): return binary(kind)
    case .rmsNorm(let epsilon):
      return norm { table, narrow, x, weight, y, rows, width in
        guard let narrow else { return table.rmsNorm(x, weight, y, rows, width, epsilon) }
        narrow(table.rmsNormHalf(x, weight, y, rows, width, epsilon))
      }
    case .layerNorm(let epsilon):
      return norm { table, narrow, x, weight, y, rows, width in
        guard let narrow else { return table.layerNorm(x, weight, y, rows, width, epsilon) }
        narrow(table.layerNormHalf(x, weight, y, rows, width, epsilon))
      }
    case .softmax: return softmax()
    case .rotate(let axes): return rotate(axes)
    default: return nil
    }
  }

  private var shape: Shape { node.type.shape }
  private var rows: Int { shape.rank == 0 ? 1 : shape[0] }
  private var rowCount: Int { shape.elementCount / max(rows, 1) }

  private func step(
    overwrites: Bool = true,
    whole: [Int] = [],
    _ body: @escaping (Frame, Range<Int>) -> Void
  ) -> RowStep {
    RowStep(
      node: node.id,
      rows: rows,
      rowByteCount: rowCount * 4,
      overwrites: overwrites,
      wholeOperands: whole,
      body: body
    )
  }

  private func elementwise(
    _ body: @escaping (tk_rows, UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void
  ) -> RowStep {
    let (input, output, width) = (node.inputs[0], node.id, rowCount)
    return step { frame, range in
      let start = range.lowerBound * width
      body(
        tk_rows_best().pointee,
        frame.floats(input) + start,
        frame.floats(output) + start,
        range.count * width
      )
    }
  }

  /// Storing as f16 and loading again.
  func rounded(_ rounding: HalfRounding) -> RowStep {
    let (input, output, width) = (node.inputs[0], node.id, rowCount)
    let name = HalfStorage.operation(of: node.name)
    return step { frame, range in
      let start = range.lowerBound * width
      var health = tk_health()
      tk_rows_best().pointee.roundHalf(
        frame.floats(input) + start,
        frame.floats(output) + start,
        range.count * width,
        rounding.flushesSubnormals,
        &health
      )
      rounding.health.add(health, to: name)
    }
  }

  private func gated() -> RowStep {
    let (gate, up, output, width) = (node.inputs[0], node.inputs[1], node.id, rowCount)
    return step { frame, range in
      let start = range.lowerBound * width
      tk_rows_best().pointee.gatedGelu(
        frame.floats(gate) + start,
        frame.floats(up) + start,
        frame.floats(output) + start,
        range.count * width
      )
    }
  }

  /// A norm by a kernel that is given the table, what takes overflowing fp16 sums, `x`, the weight,
  /// `y`, rows and width.
  private func norm(
    _ kernel:
      @escaping (
        tk_rows, ((UInt32) -> Void)?, UnsafePointer<Float>, UnsafePointer<Float>?,
        UnsafeMutablePointer<Float>, Int, Int
      ) -> Void
  ) -> RowStep {
    let (input, output, width, row) = (node.inputs[0], node.id, shape.last, rowCount)
    let weight = node.inputs.count > 1 ? node.inputs[1] : nil
    let narrow = halfSums
    return step(whole: weight.map { [$0] } ?? []) { frame, range in
      let start = range.lowerBound * row
      kernel(
        tk_rows_best().pointee,
        narrow,
        frame.floats(input) + start,
        weight.map { UnsafePointer(frame.floats($0)) },
        frame.floats(output) + start,
        range.count * row / width,
        width
      )
    }
  }

  private func softmax() -> RowStep {
    let (input, output, width, row) = (node.inputs[0], node.id, shape.last, rowCount)
    let narrow = halfSums
    return step { frame, range in
      let start = range.lowerBound * row
      let (x, y) = (frame.floats(input) + start, frame.floats(output) + start)
      let table = tk_rows_best().pointee
      let rows = range.count * row / width
      guard let narrow else { return table.softmax(x, y, rows, width) }
      narrow(table.softmaxHalf(x, y, rows, width))
    }
  }

  private func rotate(_ axes: Int) -> RowStep {
    let (input, table, output) = (node.inputs[0], node.inputs[1], node.id)
    let (heads, size) = (shape[1], shape[2])
    return step { frame, range in
      let start = range.lowerBound * heads * size
      tk_rows_best().pointee.rotate(
        frame.floats(input) + start,
        frame.floats(table) + range.lowerBound * size,
        frame.floats(output) + start,
        range.count,
        heads,
        size,
        axes
      )
    }
  }

  private func binary(_ kind: Binary) -> RowStep? {
    var (a, b) = (node.inputs[0], node.inputs[1])
    if graph.nodes[a].type.shape != shape, kind.commutes { swap(&a, &b) }
    guard graph.nodes[a].type.shape == shape else { return nil }
    let (output, row, kernel) = (node.id, rowCount, kind.kernel)
    let other = graph.nodes[b].type.shape
    let overwrites = a == node.inputs[0]
    if other == shape {
      return step(overwrites: overwrites) { frame, range in
        let start = range.lowerBound * row
        tk_rows_best().pointee.binary(
          kernel,
          frame.floats(a) + start,
          frame.floats(b) + start,
          frame.floats(output) + start,
          range.count * row
        )
      }
    }
    if other.elementCount == 1 {
      return step(overwrites: overwrites, whole: [b]) { frame, range in
        let start = range.lowerBound * row
        tk_rows_best().pointee.binaryScalar(
          kernel,
          frame.floats(a) + start,
          frame.floats(b)[0],
          frame.floats(output) + start,
          range.count * row
        )
      }
    }
    if other.rank == shape.rank, other[0] == rows, other.elementCount == rows {
      return step(overwrites: overwrites) { frame, range in
        for index in range {
          tk_rows_best().pointee.binaryScalar(
            kernel,
            frame.floats(a) + index * row,
            frame.floats(b)[index],
            frame.floats(output) + index * row,
            row
          )
        }
      }
    }
    return trailing(kernel, a, b, overwrites: overwrites)
  }

  /// An operand whose shape is the end of the result's, over and over.
  private func trailing(
    _ kernel: tk_binary,
    _ a: Int,
    _ b: Int,
    overwrites: Bool
  ) -> RowStep? {
    let (output, row) = (node.id, rowCount)
    let other = graph.nodes[b].type.shape
    let period = other.elementCount
    let trailing = Array(shape.extents.suffix(other.rank))
    guard other.extents == trailing, other.rank < shape.rank else { return nil }
    return step(overwrites: overwrites, whole: [b]) { frame, range in
      for start in stride(from: range.lowerBound * row, to: range.upperBound * row, by: period) {
        tk_rows_best().pointee.binary(
          kernel,
          frame.floats(a) + start,
          frame.floats(b),
          frame.floats(output) + start,
          period
        )
      }
    }
  }
}

extension Unary {
  var kernel: tk_unary {
    switch self {
    case .gelu: TK_GELU
    case .silu: TK_SILU
    case .sigmoid: TK_SIGMOID
    case .relu: TK_RELU
    case .tanh: TK_TANH
    case .softplus: TK_SOFTPLUS
    case .exp: TK_EXP
    }
  }
}

extension Binary {
  var kernel: tk_binary {
    switch self {
    case .add: TK_ADD
    case .subtract: TK_SUBTRACT
    case .multiply: TK_MULTIPLY
    case .divide: TK_DIVIDE
    case .maximum: TK_MAXIMUM
    case .minimum: TK_MINIMUM
    }
  }

  /// Whether operands may change places.
  var commutes: Bool { self == .add || self == .multiply || self == .maximum || self == .minimum }
}
