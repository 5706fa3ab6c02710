import CGPU
import Graph

/// Sizes and places of a matrix product as the shaders take them.
struct GPUProduct {
  var rows: Int
  var columns: Int
  /// Numbers that each sum adds, in fours for transposed products.
  var depth: Int
  /// Rows that lie `inner` apart before `outer` is taken.
  var group = 1
  var left: (base: Int, outer: Int, inner: Int, batch: Int)
  var right: (row: Int, batch: Int) = (0, 0)
  var result: (base: Int, outer: Int, inner: Int, batch: Int)
  var batches = 1
  var factor: Float = 1
  /// Scale blocks of a column, or rows on the right of a plain product.
  var blocks = 0
  var rounds = true
  var roundsRight = false
  var adds = false
  var isBiased = false
  /// Range of the results; nil for all numbers.
  var clamp: (lower: Float, upper: Float)?
  /// Which columns or depths exist: 0 all, 1 the first `numbers[0]`, 2 a ring's below it.
  var limit: UInt32 = 0

  func push(columns: Int, base: Int) -> [UInt32] {
    let places = [
      rows, columns, depth, group, left.base, left.outer, left.inner, left.batch, right.row,
      right.batch, base, result.outer, result.inner, result.batch,
    ]
    return places.map { UInt32($0) } + [
      factor.bitPattern, UInt32(blocks), (clamp?.lower ?? 0).bitPattern,
      (clamp?.upper ?? 0).bitPattern,
    ]
  }

  /// Whether four results can be stored as one.
  func isWide(base: Int) -> Bool {
    [columns, base, result.outer, result.inner, result.batch].allSatisfy { $0 % 4 == 0 }
  }
}

extension GPULowering {
  mutating func linear(_ node: Node) throws {
    let input = graph.nodes[node.inputs[0]].type.shape
    let (rows, depth, columns) = (input.rowCount, input.last, node.type.shape.last)
    let left = try wholeTexels(try range(of: node.inputs[0]), rows: rows, width: depth)
    let fours = (depth + 3) / 4
    var product = GPUProduct(
      rows: rows,
      columns: columns,
      depth: fours,
      left: (0, fours, 0, 0),
      result: (0, columns, 0, 0)
    )
    let bias = node.inputs.count > 2 ? try range(of: node.inputs[2]) : nil
    guard graph.isConstant(node.inputs[1]) else {
      guard bias == nil else { throw declined(node, "a bias beside weights that are no constant") }
      let right = try wholeTexels(
        try range(of: node.inputs[1]),
        rows: columns,
        width: depth
      )
      product.right = (fours, 0)
      product.blocks = columns
      return try transposed(product, left, right, result(node), numbers: nil)
    }
    product.isBiased = bias != nil
    let target = result(node)
    product.clamp = takeClamp(of: node, at: target)
    let type = graph.nodes[node.inputs[1]].type
    convertedWeights[weightName(node.inputs[1])] = GPUMatrix.byteCount(
      type,
      tile: context.packedRows
    )
    guard source != nil else { return try layOut(product, left, target) }
    let matrix = try packed(node.inputs[1])
    for window in matrix.windows {
      try weighted(product, left, window, matrix.type.dtype, bias, target)
    }
  }

  /// A product of which only the operands' lives matter.
  private mutating func layOut(
    _ product: GPUProduct,
    _ left: GPURange,
    _ target: GPURange
  ) throws {
    _ = try unused()
    emit(
      .productHalf,
      constants(product, rows: 1, columns: 8, base: 0),
      [.texels(left, TG_RGBA32F), .storage(target)],
      push: product.push(columns: product.columns, base: 0),
      groups: (1, 1, 1),
      work: 0
    )
  }

  private mutating func packed(_ id: Int) throws -> GPUMatrix {
    switch try constant(id) {
    case .mapped(let bytes, let type): return try matrix(bytes, type)
    case .literal(let numbers, let type):
      return try numbers.withUnsafeBytes { bytes in
        let base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 64)
        guard let base else { throw declined(graph.nodes[id], "is empty") }
        return try own(GPUMatrix(context, base, TensorType(.f32, type.shape)))
      }
    }
  }

  /// One window of a packed weight.
  private mutating func weighted(
    _ product: GPUProduct,
    _ left: GPURange,
    _ window: GPUMatrix.Window,
    _ dtype: DType,
    _ bias: GPURange?,
    _ target: GPURange
  ) throws {
    var product = product
    let weights = keep(window.weights, byteCount: window.weights.byteCount)
    let none = try unused()
    let scales = window.scales.map { keep($0, byteCount: $0.byteCount) }
    var bias = bias
    if window.firstRow > 0 { bias?.byteOffset += window.firstRow * 4 }
    if bias != nil { bias?.byteCount = window.rows * 4 }
    product.blocks = dtype == .int8Row ? 1 : product.depth / 8
    let (shader, format): (GPUShader, tg_format) =
      switch dtype {
      case .int8Block32: (.productByteBlock, TG_R32U)
      case .int8Row: (.productByteRow, TG_R32U)
      case .int4Block32: (.productNibbleBlock, TG_R32U)
      case .int4Palette32: (.productNibbleTable, TG_R32U)
      default: (.productHalf, TG_RG32U)
      }
    let rows = tiles.rows(of: product.rows, in: tiles.weighted, lanes: context.lanes)
    let packed = context.packedRows
    let base = product.result.base + window.firstRow
    emit(
      shader,
      constants(product, rows: rows, columns: 8, base: base),
      [
        .texels(left, TG_RGBA32F), .texels(weights, format), .storage(target),
        .texels(none, TG_R32I), .texels(scales ?? none, TG_R32F), .texels(bias ?? none, TG_R32F),
      ],
      push: product.push(columns: window.rows, base: base),
      groups: ((window.rows + packed - 1) / packed, (product.rows + rows - 1) / rows, 1),
      work: product.rows * window.rows * product.depth * 8
    )
  }

  private func constants(
    _ product: GPUProduct,
    rows: Int,
    columns: Int,
    base: Int
  ) -> [UInt32] {
    [
      UInt32(context.lanes), product.rounds ? 1 : 0, product.isWide(base: base) ? 1 : 0,
      UInt32(rows), UInt32(columns),
      product.isBiased ? 1 : 0,
      product.limit, product.roundsRight ? 1 : 0, product.adds ? 1 : 0,
      product.clamp == nil ? 0 : 1,
    ]
  }

  /// A product whose right side has its depths side by side.
  mutating func transposed(
    _ product: GPUProduct,
    _ left: GPURange,
    _ right: GPURange,
    _ target: GPURange,
    numbers: GPURange?,
    rightFormat: tg_format = TG_RGBA32F
  ) throws {
    let rows = tiles.rows(of: product.rows, in: tiles.transposed, lanes: context.lanes)
    let each = tiles.transposed.columns * context.lanes
    let base = product.result.base
    emit(
      .productTransposed,
      constants(product, rows: rows, columns: tiles.transposed.columns, base: base),
      [
        .texels(left, TG_RGBA32F), .texels(right, rightFormat), .storage(target),
        .texels(try numbers ?? unused(), TG_R32I),
      ],
      push: product.push(columns: product.columns, base: base),
      groups: (
        (product.columns + each - 1) / each, (product.rows + rows - 1) / rows,
        product.batches
      ),
      work: product.batches * product.rows * product.columns * product.depth * 8
    )
  }

  /// A product whose right side has its columns side by side, a multiple of four of them.
  mutating func plain(
    _ product: GPUProduct,
    _ left: GPURange,
    _ right: GPURange,
    _ target: GPURange,
    numbers: GPURange?,
    totals: GPURange? = nil,
    rightFormat: tg_format = TG_RGBA32F
  ) throws {
    let rows = tiles.rows(of: product.rows, in: tiles.plain, lanes: context.lanes)
    let most = 4 * context.lanes
    let each = product.columns > most ? tiles.plain.columns : 1
    emit(
      .productPlain,
      constants(product, rows: rows, columns: each, base: 0) + [totals == nil ? 0 : 1],
      [
        .texels(left, TG_RGBA32F), .texels(right, rightFormat), .storage(target),
        .texels(try numbers ?? unused(), TG_R32I),
        .texels(try totals ?? unused(), TG_R32F),
      ],
      push: product.push(columns: product.columns, base: product.result.base),
      groups: (
        (product.columns + most * each - 1) / (most * each), (product.rows + rows - 1) / rows,
        product.batches
      ),
      work: product.batches * product.rows * product.columns * product.blocks * 2
    )
  }

  mutating func matmul(_ node: Node, transposed isTransposed: Bool) throws {
    let (a, b) = (graph.nodes[node.inputs[0]].type.shape, graph.nodes[node.inputs[1]].type.shape)
    let (rows, depth, columns) = (a[-2], a.last, node.type.shape.last)
    let batches = node.type.shape.extents.dropLast(2).reduce(1, *)
    let fours = (depth + 3) / 4
    let left = try wholeTexels(try range(of: node.inputs[0]), rows: batches * rows, width: depth)
    var right = try range(of: node.inputs[1])
    var product = GPUProduct(
      rows: rows,
      columns: columns,
      depth: fours,
      left: (0, fours, 0, rows * fours),
      result: (0, columns, 0, rows * columns),
      batches: batches,
      blocks: depth
    )
    if !isTransposed, columns % 4 == 0 {
      product.right = (columns / 4, depth * columns / 4)
      return try plain(product, left, right, result(node), numbers: nil)
    }
    if !isTransposed {
      let turned = slot(b.elementCount * 4)
      let block = GPUMove(
        extents: [batches, columns, depth],
        read: [depth * columns, 1, columns],
        write: [depth * columns, depth, 1]
      )
      move(right, turned, block)
      right = turned
    }
    right = try wholeTexels(right, rows: batches * columns, width: depth)
    product.right = (fours, columns * fours)
    product.blocks = columns
    try transposed(product, left, right, result(node), numbers: nil)
  }
}
