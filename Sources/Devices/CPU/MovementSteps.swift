import CKernels
import Graph

/// Steps that move elements, and the rare reductions and broadcasts, written for any shape.
enum MovementSteps {
  static func make(_ node: Node, in graph: Graph) -> (any CPUStep)? {
    let inputs = node.inputs.map { graph.nodes[$0] }
    switch node.op {
    case .slice(let axis, let start, _):
      return CopyStep(
        node,
        [CopyStep.Part(inputs[0], axis: axis, from: start, count: node.type.shape[axis])],
        axis: axis
      )
    case .concat(let axis):
      var offset = 0
      let parts = inputs.map { input in
        defer { offset += input.type.shape[axis] }
        return CopyStep.Part(
          input,
          axis: axis,
          from: 0,
          count: input.type.shape[axis],
          to: offset
        )
      }
      return CopyStep(node, parts, axis: axis)
    case .pad(let axis, let before, _):
      let part = CopyStep.Part(
        inputs[0],
        axis: axis,
        from: 0,
        count: inputs[0].type.shape[axis],
        to: before
      )
      return CopyStep(node, [part], axis: axis, clears: true)
    case .transpose(let permutation): return TransposeStep(node, inputs[0], permutation)
    default: return nil
    }
  }
}

/// Copies ranges of one axis.
struct CopyStep: CPUStep {
  struct Part {
    let node: Int
    let extent: Int
    let from: Int
    let count: Int
    let to: Int

    init(_ node: Node, axis: Int, from: Int, count: Int, to: Int = 0) {
      self.node = node.id
      extent = node.type.shape[axis]
      self.from = from
      self.count = count
      self.to = to
    }
  }

  let node: Int
  private let parts: [Part]
  private let outer: Int
  private let innerBytes: Int
  private let extent: Int
  private let clears: Bool
  var scratchOffset = 0

  init(_ node: Node, _ parts: [Part], axis: Int, clears: Bool = false) {
    self.node = node.id
    self.parts = parts
    self.clears = clears
    let shape = node.type.shape
    outer = shape.extents[..<axis].reduce(1, *)
    extent = shape[axis]
    innerBytes = node.type.byteCount / max(outer * extent, 1)
  }

  func run(_ frame: Frame) {
    let target = frame.raw(node)
    if clears {
      target.initializeMemory(as: UInt8.self, repeating: 0, count: outer * extent * innerBytes)
    }
    for part in parts {
      let source = frame.raw(part.node)
      for block in 0..<outer {
        (target + (block * extent + part.to) * innerBytes).copyMemory(
          from: source + (block * part.extent + part.from) * innerBytes,
          byteCount: part.count * innerBytes
        )
      }
    }
  }
}

/// Reorders axes.
struct TransposeStep: CPUStep {
  let node: Int
  private let input: Int
  private let shape: Shape
  private let strides: [Int]
  var scratchOffset = 0

  init(_ node: Node, _ input: Node, _ permutation: [Int]) {
    self.node = node.id
    self.input = input.id
    shape = node.type.shape
    var steps = [Int](repeating: 1, count: shape.rank)
    for axis in (0..<max(shape.rank - 1, 0)).reversed() {
      steps[axis] = steps[axis + 1] * input.type.shape[axis + 1]
    }
    strides = permutation.map { steps[$0] }
  }

  func run(_ frame: Frame) {
    let (source, target) = (frame.floats(input), frame.floats(node))
    for flat in 0..<shape.elementCount {
      var (rest, index) = (flat, 0)
      for axis in (0..<shape.rank).reversed() {
        index += rest % shape[axis] * strides[axis]
        rest /= shape[axis]
      }
      target[flat] = source[index]
    }
  }
}

/// Folds one axis.
struct ReduceStep: CPUStep {
  let node: Int
  private let input: Int
  private let kind: Reduction
  private let outer: Int
  private let extent: Int
  private let inner: Int
  private let isHalf: Bool
  var scratchOffset = 0

  /// A step; `isHalf` says whether sums are kept in fp16.
  init(_ node: Node, _ input: Node, _ kind: Reduction, _ axis: Int, isHalf: Bool) {
    self.isHalf = isHalf
    self.node = node.id
    self.input = input.id
    self.kind = kind
    let shape = input.type.shape
    outer = shape.extents[..<axis].reduce(1, *)
    extent = shape[axis]
    inner = shape.extents[(axis + 1)...].reduce(1, *)
  }

  func run(_ frame: Frame) {
    let (source, target) = (frame.floats(input), frame.floats(node))
    frame.pool.run(outer) { block in
      let row = target + block * inner
      let first = source + block * extent * inner
      for index in 0..<inner { row[index] = first[index] }
      for entry in 1..<max(extent, 1) {
        let other = first + entry * inner
        if kind == .maximum {
          for index in 0..<inner { row[index] = Binary.maximum.apply(row[index], other[index]) }
        } else if isHalf {
          tk_rows_best().pointee.halfAdd(row, other, inner)
        } else {
          for index in 0..<inner { row[index] += other[index] }
        }
      }
      if kind == .mean {
        for index in 0..<inner { row[index] /= Float(extent) }
      }
    }
  }
}

/// A binary operation whose operands repeat in ways the row form does not cover.
struct BroadcastStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private let kind: Binary
  private let shape: Shape
  private let strides: [[Int]]
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph, _ kind: Binary) {
    self.node = node.id
    self.kind = kind
    inputs = node.inputs
    let shape = node.type.shape
    self.shape = shape
    strides = inputs.map { input in
      let operand = graph.nodes[input].type.shape
      var result = [Int](repeating: 0, count: shape.rank)
      var step = 1
      for axis in (0..<operand.rank).reversed() {
        if operand[axis] != 1 { result[axis + shape.rank - operand.rank] = step }
        step *= operand[axis]
      }
      return result
    }
  }

  func run(_ frame: Frame) {
    let (a, b) = (frame.floats(inputs[0]), frame.floats(inputs[1]))
    let target = frame.floats(node)
    for flat in 0..<shape.elementCount {
      var (rest, left, right) = (flat, 0, 0)
      for axis in (0..<shape.rank).reversed() {
        let index = rest % shape[axis]
        left += index * strides[0][axis]
        right += index * strides[1][axis]
        rest /= shape[axis]
      }
      target[flat] = kind.apply(a[left], b[right])
    }
  }
}

/// f16 values as f32.
struct WidenStep: CPUStep {
  let node: Int
  private let input: Int
  private let count: Int
  var scratchOffset = 0

  init(_ node: Node) {
    self.node = node.id
    input = node.inputs[0]
    count = node.type.shape.elementCount
  }

  func run(_ frame: Frame) {
    let (source, target) = (frame.raw(input), frame.floats(node))
    let block = 1 << 14
    frame.pool.run((count + block - 1) / block) { task in
      let start = task * block
      tk_rows_best().pointee.widenHalf(
        source.assumingMemoryBound(to: UInt16.self) + start,
        target + start,
        min(block, count - start)
      )
    }
  }
}
