import CGPU
import Graph

extension GPULowering {
  /// The number by which the elementwise shader knows an operation, with its parameters.
  private func code(_ op: Op) -> (operation: UInt32, first: Float, second: Float)? {
    switch op {
    case .unary(let kind):
      switch kind {
      case .gelu: (1, 0, 0)
      case .silu: (2, 0, 0)
      case .sigmoid: (3, 0, 0)
      case .relu: (4, 0, 0)
      case .tanh: (5, 0, 0)
      case .softplus: (6, 0, 0)
      case .exp: (7, 0, 0)
      }
    case .affine(let scale, let offset): (8, scale, offset)
    case .clamp(let lower, let upper): (9, lower, upper)
    case .softcap(let cap): (10, cap, 0)
    case .gatedGelu: (11, 0, 0)
    case .binary(let kind): (Self.code(kind), 0, 0)
    default: nil
    }
  }

  private static func code(_ kind: Binary) -> UInt32 {
    switch kind {
    case .add: 16
    case .subtract: 17
    case .multiply: 18
    case .divide: 19
    case .maximum: 20
    case .minimum: 21
    }
  }

  mutating func elementwise(_ node: Node) throws {
    guard let code = code(node.op) else { return }
    let count = node.type.shape.elementCount
    let isWide = count % 4 == 0
    let format = isWide ? TG_RGBA32F : TG_R32F
    let left = try range(of: node.inputs[0])
    let right = node.inputs.count > 1 ? try range(of: node.inputs[1]) : nil
    let target = result(node)
    emitElementwise(
      operation: code.operation,
      left,
      format,
      right.map { Right(range: $0, format: format, repeats: 1, width: 1) },
      target,
      texels: isWide ? count / 4 : count,
      isWide: isWide,
      parameters: (code.first, code.second),
      clamp: takeClamp(of: node, at: target)
    )
  }

  /// The second operand of an elementwise function and how it repeats.
  struct Right {
    let range: GPURange
    let format: tg_format
    /// 1 not at all, 2 along rows of `width` texels, 3 one number a row, 4 one number.
    let repeats: UInt32
    let width: Int
  }

  mutating func emitElementwise(
    operation: UInt32,
    _ left: GPURange,
    _ format: tg_format,
    _ right: Right?,
    _ target: GPURange,
    texels: Int,
    isWide: Bool,
    rounds: Bool = true,
    parameters: (Float, Float) = (0, 0),
    clamp: (lower: Float, upper: Float)? = nil
  ) {
    let lanes = context.family == .texels ? context.lanes : 128
    emit(
      .elementwise,
      [
        UInt32(lanes), rounds ? 1 : 0, isWide ? 1 : 0, operation, right?.repeats ?? 0,
        clamp == nil ? 0 : 1,
      ],
      [
        .texels(left, format),
        right.map { .texels($0.range, $0.format) } ?? .texels(left, format), .storage(target),
      ],
      push: [
        UInt32(texels), UInt32(right?.width ?? 1), parameters.0.bitPattern,
        parameters.1.bitPattern, (clamp?.lower ?? 0).bitPattern, (clamp?.upper ?? 0).bitPattern,
      ],
      groups: Self.grid(max((texels + lanes * 8 - 1) / (lanes * 8), 1)),
      work: texels * 64
    )
  }

  mutating func binary(_ node: Node, _ kind: Binary) throws {
    let shapes = node.inputs.map { graph.nodes[$0].type.shape }
    var order = [0, 1]
    let commutes = kind != .subtract && kind != .divide
    if shapes[0] != node.type.shape, shapes[1] == node.type.shape, commutes { order = [1, 0] }
    let right = shapes[order[1]]
    let total = node.type.shape.elementCount
    guard shapes[order[0]].elementCount == total, let pattern = pattern(right, in: node.type.shape)
    else { return try broadcast(node, kind, shapes) }
    let isWide =
      total % 4 == 0 && (pattern.repeats > 2 || right.elementCount % 4 == 0)
      && (pattern.repeats != 3 || pattern.width % 4 == 0)
    let format = isWide ? TG_RGBA32F : TG_R32F
    let operand = Right(
      range: try range(of: node.inputs[order[1]]),
      format: pattern.repeats > 2 ? TG_R32F : format,
      repeats: pattern.repeats,
      width: max(isWide ? pattern.width / 4 : pattern.width, 1)
    )
    let left = try range(of: node.inputs[order[0]])
    let target = result(node)
    emitElementwise(
      operation: Self.code(kind),
      left,
      format,
      operand,
      target,
      texels: isWide ? total / 4 : total,
      isWide: isWide,
      clamp: takeClamp(of: node, at: target)
    )
  }

  /// How an operand repeats in a shape, where the elementwise shader has that pattern.
  private func pattern(_ operand: Shape, in shape: Shape) -> (repeats: UInt32, width: Int)? {
    let count = operand.elementCount
    if count == shape.elementCount { return (1, 1) }
    if count == 1 { return (4, 1) }
    let inner = Array(operand.extents.drop { $0 == 1 })
    if shape.extents.suffix(inner.count) == inner[...] { return (2, count) }
    guard operand.rank == shape.rank else { return nil }
    let outer = operand.extents.prefix { _ in true }
    let kept = (0..<shape.rank).prefix { outer[$0] == shape[$0] }.count
    guard outer[kept...].allSatisfy({ $0 == 1 }) else { return nil }
    return (3, shape.extents[kept...].reduce(1, *))
  }

  private mutating func broadcast(_ node: Node, _ kind: Binary, _ shapes: [Shape]) throws {
    let shape = node.type.shape
    guard shape.rank <= 6 else { throw declined(node, "rank above 6") }
    func strides(_ operand: Shape) -> [UInt32] {
      var result = [UInt32](repeating: 0, count: 6)
      var step = 1
      for axis in (0..<operand.rank).reversed() {
        if operand[axis] != 1 { result[axis + shape.rank - operand.rank] = UInt32(step) }
        step *= operand[axis]
      }
      return result
    }
    let extents = shape.extents.map { UInt32($0) } + [UInt32](repeating: 1, count: 6 - shape.rank)
    let operands = try node.inputs.map { GPUOperand.texels(try range(of: $0), TG_R32F) }
    emit(
      .broadcast,
      [UInt32(lanes), 1, 0, Self.code(kind)],
      operands + [.storage(result(node))],
      push: [UInt32(shape.elementCount), UInt32(shape.rank)] + extents + strides(shapes[0])
        + strides(shapes[1]),
      groups: texelGrid(shape.elementCount),
      work: shape.elementCount * 16
    )
  }
}
