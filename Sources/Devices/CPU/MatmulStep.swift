import CKernels
import Graph

/// A batch of products of two activations.
struct MatmulStep: CPUStep {
  let node: Int
  private let left: Int
  private let right: Int
  private let batches: Int
  private let rows: Int
  private let depth: Int
  private let width: Int
  private let isTransposed: Bool
  private let isHalf: Bool
  var scratchOffset = 0

  /// A step; `isHalf` says whether sums are kept in fp16.
  init(_ node: Node, in graph: Graph, transposed: Bool, isHalf: Bool = false) {
    self.isHalf = isHalf
    self.node = node.id
    left = node.inputs[0]
    right = node.inputs[1]
    let shape = node.type.shape
    batches = shape.extents.dropLast(2).reduce(1, *)
    rows = shape[-2]
    width = shape.last
    depth = graph.nodes[left].type.shape.last
    isTransposed = transposed
  }

  private func matrix(_ data: UnsafeRawPointer?) -> tk_matrix {
    tk_matrix(data: data, format: TK_F32, rows: width, columns: depth)
  }

  private var turnedByteCount: Int { isTransposed ? 0 : (width * depth * 4 + 63) / 64 * 64 }

  func scratchByteCount(_ pool: WorkerPool) -> Int {
    var matrix = matrix(nil)
    let product =
      isHalf ? tk_linear_half_scratch(pool.handle) : tk_linear_scratch(pool.handle, rows, &matrix)
    return turnedByteCount + product
  }

  func run(_ frame: Frame) {
    let scratch = frame.arena + scratchOffset
    let product = isHalf ? tk_linear_half : tk_linear
    for batch in 0..<batches {
      var operand = frame.floats(right) + batch * width * depth
      if !isTransposed {
        let turned = scratch.assumingMemoryBound(to: Float.self)
        turn(operand, to: turned, frame.pool)
        operand = turned
      }
      var matrix = matrix(operand)
      product(
        frame.pool.handle,
        frame.floats(left) + batch * rows * depth,
        rows,
        &matrix,
        nil,
        frame.floats(node) + batch * rows * width,
        scratch + turnedByteCount
      )
    }
  }

  /// `[depth, width]` to `[width, depth]`.
  private func turn(
    _ source: UnsafeMutablePointer<Float>,
    to target: UnsafeMutablePointer<Float>,
    _ pool: WorkerPool
  ) {
    let block = 16
    pool.run((width + block - 1) / block) { task in
      let columns = task * block..<min(width, (task + 1) * block)
      for k in 0..<depth {
        for column in columns { target[column * depth + k] = source[k * width + column] }
      }
    }
  }
}

/// Masks of attention, made on one thread.
struct MaskStep: CPUStep {
  let node: Int
  private let op: Op
  private let inputs: [Int]
  private let shape: Shape
  var scratchOffset = 0

  init(_ node: Node) {
    self.node = node.id
    op = node.op
    inputs = node.inputs
    shape = node.type.shape
  }

  func run(_ frame: Frame) {
    let numbers: [Float]
    switch op {
    case .attentionMask(_, let past, let new, let window):
      let blocks =
        inputs.count > 2
        ? Array(UnsafeBufferPointer(start: frame.integers(inputs[2]), count: new)) : []
      numbers = AttentionMask(
        queryPosition: Int(frame.integers(inputs[0])[0]),
        position: Int(frame.integers(inputs[1])[0]),
        past: past,
        new: new,
        window: window,
        blocks: blocks
      ).numbers(queries: shape[0])
    default:
      let count = Int(frame.integers(inputs[0])[0])
      numbers = (0..<shape[0]).map { $0 < count ? 0 : AttentionMask.hidden }
    }
    frame.floats(node).update(from: numbers, count: numbers.count)
  }
}
