import CGPU
import Graph

/// A block of elements that moves: extents with strides on both sides, in numbers.
struct GPUMove {
  var extents: [Int]
  var read: [Int]
  var write: [Int]
  var from = 0
  var to = 0

  /// Whether four numbers can move as one.
  var isWide: Bool {
    guard let last = extents.last else { return false }
    return last % 4 == 0 && read.last == 1 && write.last == 1 && from % 4 == 0 && to % 4 == 0
      && read.dropLast().allSatisfy { $0 % 4 == 0 } && write.dropLast().allSatisfy { $0 % 4 == 0 }
  }

  /// The same block in texels of four.
  var widened: GPUMove {
    var result = self
    result.extents[extents.count - 1] /= 4
    for axis in 0..<extents.count - 1 {
      result.read[axis] /= 4
      result.write[axis] /= 4
    }
    result.from /= 4
    result.to /= 4
    return result
  }
}

extension Shape {
  /// Steps in elements between neighbours along each axis.
  var strides: [Int] {
    var result = [Int](repeating: 1, count: rank)
    for axis in (0..<max(rank - 1, 0)).reversed() {
      result[axis] = result[axis + 1] * self[axis + 1]
    }
    return result
  }
}

extension GPULowering {
  mutating func move(_ source: GPURange, _ target: GPURange, _ block: GPUMove) {
    let isWide = block.isWide
    let move = isWide ? block.widened : block
    let count = move.extents.reduce(1, *)
    func padded(_ values: [Int], _ filler: Int) -> [UInt32] {
      (values + [Int](repeating: filler, count: 6 - values.count)).map { UInt32($0) }
    }
    emit(
      .move,
      [UInt32(lanes), 0, isWide ? 1 : 0, 0],
      [.texels(source, isWide ? TG_RGBA32U : TG_R32U), .storage(target)],
      push: [
        UInt32(count), UInt32(move.extents.count), UInt32(move.from), UInt32(move.to),
      ] + padded(move.extents, 1) + padded(move.read, 0) + padded(move.write, 0),
      groups: texelGrid(count),
      work: count * (isWide ? 32 : 8)
    )
  }

  /// Writes zeros.
  mutating func clear(_ target: GPURange, count: Int) throws {
    emit(
      .move,
      [UInt32(lanes), 0, 0, 1],
      [.texels(try unused(), TG_R32U), .storage(target)],
      push: [UInt32(count), 1, 0, 0, UInt32(count), 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 0]
        + [1, 0, 0, 0, 0, 0],
      groups: texelGrid(count),
      work: count * 4
    )
  }

  mutating func transpose(_ node: Node, _ permutation: [Int]) throws {
    let input = graph.nodes[node.inputs[0]].type.shape
    guard input.rank <= 6 else { throw declined(node, "rank above 6") }
    let block = GPUMove(
      extents: node.type.shape.extents,
      read: permutation.map { input.strides[$0] },
      write: node.type.shape.strides
    )
    move(try range(of: node.inputs[0]), result(node), block)
  }

  mutating func slice(_ node: Node, _ axis: Int, _ start: Int) throws {
    let input = graph.nodes[node.inputs[0]].type.shape
    let inner = input.extents[(axis + 1)...].reduce(1, *)
    let outer = input.extents[..<axis].reduce(1, *)
    var source = try range(of: node.inputs[0])
    let offset = start * inner * 4
    if outer == 1, offset % context.device.alignment == 0 {
      source.byteOffset += offset
      place(
        node.id,
        at: GPURange(
          place: source.place,
          byteOffset: source.byteOffset,
          byteCount: node.type.shape.elementCount * 4
        )
      )
      return
    }
    let count = node.type.shape[axis] * inner
    let block = GPUMove(
      extents: [outer, count],
      read: [input[axis] * inner, 1],
      write: [count, 1],
      from: start * inner
    )
    move(source, result(node), block)
  }

  mutating func concat(_ node: Node, _ axis: Int) throws {
    let inner = node.type.shape.extents[(axis + 1)...].reduce(1, *)
    let outer = node.type.shape.extents[..<axis].reduce(1, *)
    let target = result(node)
    var offset = 0
    for input in node.inputs {
      let size = graph.nodes[input].type.shape[axis] * inner
      let block = GPUMove(
        extents: [outer, size],
        read: [size, 1],
        write: [node.type.shape[axis] * inner, 1],
        to: offset
      )
      move(try range(of: input), target, block)
      offset += size
    }
  }

  mutating func pad(_ node: Node, _ axis: Int, _ before: Int) throws {
    let input = graph.nodes[node.inputs[0]].type.shape
    let inner = input.extents[(axis + 1)...].reduce(1, *)
    let outer = input.extents[..<axis].reduce(1, *)
    let target = result(node)
    try clear(target, count: node.type.shape.elementCount)
    let block = GPUMove(
      extents: [outer, input[axis] * inner],
      read: [input[axis] * inner, 1],
      write: [node.type.shape[axis] * inner, 1],
      to: before * inner
    )
    move(try range(of: node.inputs[0]), target, block)
  }

  /// Rows of `width` numbers with zeros behind each up to whole texels; the rows themselves where
  /// they have them.
  mutating func wholeTexels(_ source: GPURange, rows: Int, width: Int) throws -> GPURange {
    guard width % 4 != 0 else { return source }
    let padded = (width + 3) / 4 * 4
    let target = slot(rows * padded * 4)
    try clear(target, count: rows * padded)
    move(source, target, GPUMove(extents: [rows, width], read: [width, 1], write: [padded, 1]))
    return target
  }

  mutating func gather(_ node: Node) throws {
    let table = graph.nodes[node.inputs[0]]
    let width = table.type.shape.elementCount / max(table.type.shape[0], 1)
    let numbers = node.type.shape.elementCount
    let words: GPURange
    let format: UInt32
    if graph.isConstant(node.inputs[0]), source == nil {
      if try gatherOnHost(node, nil, table.type) { return }
      words = Self.unbound(table.type.byteCount)
      format = 0
      count(table.type.byteCount)
    } else if graph.isConstant(node.inputs[0]),
      case .mapped(let bytes, let type) = try constant(table.id)
    {
      if try gatherOnHost(node, bytes, type) { return }
      let size = (type.byteCount + 3) / 4 * 4
      count(type.byteCount)
      let buffer = try GPUBuffer(context, byteCount: size)
      try buffer.upload(bytes, byteCount: type.byteCount)
      words = keep(buffer, byteCount: size)
      format = Self.tableFormat(type.dtype)
    } else {
      words = try range(of: node.inputs[0])
      format = 0
    }
    emit(
      .gather,
      [UInt32(lanes), 1, 0, format],
      [
        .texels(words, TG_R32U), .texels(try range(of: node.inputs[1]), TG_R32I),
        .storage(result(node)),
      ],
      push: [UInt32(numbers), UInt32(width), UInt32(table.type.shape[0])],
      groups: texelGrid(numbers),
      work: numbers * 16
    )
  }

  private static func tableFormat(_ dtype: DType) -> UInt32 {
    switch dtype {
    case .f32, .i32: 0
    case .f16: 1
    case .bf16: 2
    case .int8Block32: 3
    case .int8Row: 4
    case .int4Block32: 5
    case .int4Palette32: 6
    }
  }

  /// Leaves a large table where it is mapped, where the row numbers are an input.
  ///
  /// The processor takes the rows while it uploads the inputs.
  private mutating func gatherOnHost(
    _ node: Node,
    _ bytes: UnsafeRawPointer?,
    _ type: TensorType
  ) throws -> Bool {
    var ids = graph.nodes[node.inputs[1]]
    while case .reshape = ids.op { ids = graph.nodes[ids.inputs[0]] }
    guard type.byteCount > GPUProfile.deviceTableByteCount else {
      return false
    }
    guard ids.op == .input else {
      throw declined(node, "rows of tables above \(GPUProfile.deviceTableByteCount) bytes")
    }
    let target = result(node)
    guard case .slot(let slot) = target.place else { return false }
    fillsBefore(target)
    guard let bytes else {
      copy(target, target, count: node.type.shape.elementCount, rounds: true)
      return true
    }
    gathers(
      GPUProgram.HostGather(
        table: bytes,
        type: type,
        ids: ids.name,
        count: node.type.shape[0],
        slot: slot
      )
    )
    copy(target, target, count: node.type.shape.elementCount, rounds: true)
    return true
  }

  mutating func mask(_ node: Node) throws {
    let count = node.type.shape.elementCount
    let inputs = try node.inputs.map { try range(of: $0) }
    var (mode, past, new, reach) = (UInt32(0), 0, 0, 0)
    if case .attentionMask(_, let ring, let fresh, let window) = node.op {
      (mode, past, new, reach) = (1, ring, fresh, window ?? 0)
    }
    emit(
      .mask,
      [UInt32(lanes), 0, 0, mode, inputs.count > 2 ? 1 : 0],
      [
        .texels(inputs[0], TG_R32I), .texels(inputs.count > 1 ? inputs[1] : inputs[0], TG_R32I),
        .texels(inputs.count > 2 ? inputs[2] : inputs[0], TG_R32I), .storage(result(node)),
      ],
      push: [UInt32(count), UInt32(past), UInt32(new), UInt32(reach)],
      groups: texelGrid(count),
      work: count * 8
    )
  }
}
