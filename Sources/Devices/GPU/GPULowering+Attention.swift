import CGPU
import Graph

/// Keys and values of an attention: one run of rows, or a ring and the rows of a step.
private struct GPUKeys {
  let keys: GPURange
  let values: GPURange
  let rows: Int
  /// Column of the scores at which the run starts.
  let column: Int
  /// How many of them exist: a number that a launch knows, and how it is read.
  var numbers: GPURange?
  var limit: UInt32 = 0
  /// Format of the rows where they lie, and whether they still have to be rounded.
  var format = TG_RGBA32F
  var rounds = false
  /// Whether the rows of a group follow each other.
  var isGrouped = false

  /// Texels between rows and between groups.
  func steps(groups: Int, fours: Int) -> (row: Int, batch: Int) {
    isGrouped ? (fours, rows * fours) : (groups * fours, fours)
  }
}

/// What an attention's softmax has to know.
private struct GPUScores {
  let mode: UInt32
  var numbers: [GPURange]
  var hasBlocks = false
  var past = 0
  var fresh: Int
  var freshStart = 0
  var window = 0
}

extension GPULowering {
  mutating func attention(_ node: Node, _ scale: Float) throws {
    let rows = graph.nodes[node.inputs[1]].type.shape[0]
    let count = node.inputs.count > 3 ? try range(of: node.inputs[3]) : nil
    let run = GPUKeys(
      keys: try grouped(node.inputs[1]),
      values: try grouped(node.inputs[2]),
      rows: rows,
      column: 0,
      numbers: count,
      limit: count == nil ? 0 : 1,
      isGrouped: true
    )
    let width = node.type.shape.last
    if context.family == .texels, width == 64 || width == 4 * context.lanes {
      return try fused(node, scale, run, count)
    }
    let none = try unused()
    let scores = GPUScores(
      mode: count == nil ? 0 : 1,
      numbers: [count ?? none, none, none],
      fresh: rows
    )
    try attend(node, scale, [run], scores)
  }

  /// Attention that keeps its scores in registers.
  private mutating func fused(
    _ node: Node,
    _ scale: Float,
    _ run: GPUKeys,
    _ count: GPURange?
  ) throws {
    let shape = node.type.shape
    let groups = graph.nodes[node.inputs[1]].type.shape[1]
    let query = try range(of: node.inputs[0])
    let numbers = try count ?? unused()
    let target = result(node)
    let clamp = takeClamp(of: node, at: target)
    let lanes = context.lanes
    let rows = shape[0] > lanes ? 2 * lanes : lanes
    emit(
      .attention,
      [
        UInt32(lanes), 1, 1, UInt32(rows), UInt32(shape.last / (4 * lanes)), count == nil ? 0 : 1,
        clamp == nil ? 0 : 1,
      ],
      [
        .texels(query, TG_RGBA32F), .texels(run.keys, TG_RGBA32F),
        .texels(run.values, TG_RGBA32F), .texels(numbers, TG_R32I), .storage(target),
      ],
      push: [
        UInt32(shape[0]), UInt32(shape[1]), UInt32(shape[1] / groups), UInt32(run.rows),
        scale.bitPattern, (clamp?.lower ?? 0).bitPattern, (clamp?.upper ?? 0).bitPattern,
      ],
      groups: ((shape[0] + rows - 1) / rows, shape[1], 1),
      work: shape.elementCount * run.rows * 4
    )
  }

  /// Rows `[S, G, E]` as `[G, S, E]`: rows that lie far apart fall on the same lines of a cache.
  private mutating func grouped(_ id: Int) throws -> GPURange {
    let shape = graph.nodes[id].type.shape
    let source = try range(of: id)
    guard shape[1] > 1 else { return source }
    let target = slot(shape.elementCount * 4)
    let block = GPUMove(
      extents: [shape[1], shape[0], shape[2]],
      read: [shape[2], shape[1] * shape[2], 1],
      write: [shape[0] * shape[2], shape[2], 1]
    )
    move(source, target, block)
    return target
  }

  mutating func cachedAttention(_ node: Node, _ scale: Float, _ window: Int?) throws {
    let types = node.inputs.map { graph.nodes[$0].type }
    let (ring, fresh) = (types[1].shape[0], types[3].shape[0])
    let start = (ring + 3) / 4 * 4
    let position = try range(of: node.inputs[6])
    let past = try (1...2).map { try range(of: node.inputs[$0]) }
    let isState = { (range: GPURange) in if case .state = range.place { true } else { false } }
    let isHalf = isState(past[0]) && types[1].dtype == .f16
    let old = GPUKeys(
      keys: past[0],
      values: past[1],
      rows: ring,
      column: 0,
      numbers: position,
      limit: 2,
      format: isHalf ? TG_RGBA16F : TG_RGBA32F,
      rounds: isState(past[0]) && !isHalf
    )
    let new = GPUKeys(
      keys: try range(of: node.inputs[3]),
      values: try range(of: node.inputs[4]),
      rows: fresh,
      column: start
    )
    let blocks = node.inputs.count > 7 ? try range(of: node.inputs[7]) : nil
    let none = try unused()
    let scores = GPUScores(
      mode: 2,
      numbers: [position, try range(of: node.inputs[5]), blocks ?? none],
      hasBlocks: blocks != nil,
      past: ring,
      fresh: fresh,
      freshStart: start,
      window: window ?? 0
    )
    try attend(node, scale, [old, new], scores)
  }

  /// Scores, softmax and mixture, some queries at a time so that the scores stay small.
  private mutating func attend(
    _ node: Node,
    _ scale: Float,
    _ runs: [GPUKeys],
    _ scores: GPUScores
  ) throws {
    let shape = node.type.shape
    guard shape.last % 4 == 0 else { throw declined(node, "head width is no multiple of 4") }
    let groups = graph.nodes[node.inputs[1]].type.shape[1]
    let pitch = ((runs.last?.column ?? 0) + (runs.last?.rows ?? 0) + 3) / 4 * 4
    let most = min(context.device.storageRange, context.scratchByteCount) / (shape[1] * pitch * 4)
    guard most > 0 else { throw declined(node, "one query's scores exceed a storage buffer") }
    let tiled = most > 48 ? most / 24 * 24 : most
    let query = try range(of: node.inputs[0])
    let target = result(node)
    let clamp = takeClamp(of: node, at: target)
    for first in stride(from: 0, to: shape[0], by: tiled) {
      let count = min(tiled, shape[0] - first)
      let block = GPUAttentionBlock(
        first: first,
        queries: count,
        heads: shape[1],
        groups: groups,
        width: shape.last,
        pitch: pitch
      )
      let scratch = slot(count * shape[1] * pitch * 4)
      let totals = slot(count * shape[1] * 4)
      for run in runs { try score(block, query, run, scratch, scale) }
      soften(block, scratch, totals, scores)
      for (index, run) in runs.enumerated() {
        try mix(
          block,
          scratch,
          totals,
          run,
          target,
          adds: index > 0,
          clamp,
          isLast: index == runs.count - 1
        )
      }
    }
  }

  private mutating func score(
    _ block: GPUAttentionBlock,
    _ query: GPURange,
    _ run: GPUKeys,
    _ scratch: GPURange,
    _ scale: Float
  ) throws {
    let fours = block.width / 4
    let product = GPUProduct(
      rows: block.queries * block.perGroup,
      columns: (run.rows + 3) / 4 * 4,
      depth: fours,
      group: block.perGroup,
      left: (
        block.first * block.heads * fours, block.heads * fours, fours, block.perGroup * fours
      ),
      right: run.steps(groups: block.groups, fours: fours),
      result: (
        run.column, block.perGroup * block.pitch, block.pitch,
        block.queries * block.perGroup * block.pitch
      ),
      batches: block.groups,
      factor: scale,
      blocks: run.rows,
      rounds: false,
      roundsRight: run.rounds,
      limit: run.limit
    )
    try transposed(
      product,
      query,
      run.keys,
      scratch,
      numbers: run.numbers,
      rightFormat: run.format
    )
  }

  private mutating func soften(
    _ block: GPUAttentionBlock,
    _ scratch: GPURange,
    _ totals: GPURange,
    _ scores: GPUScores
  ) {
    let rows = block.queries * block.heads
    emit(
      .scores,
      [
        UInt32(context.rowLanes), 0, 1, context.family == .texels ? 1 : 2, scores.mode,
        scores.hasBlocks ? 1 : 0,
      ],
      [.texels(scratch, TG_RGBA32F), .storage(scratch)]
        + scores.numbers.map { .texels($0, TG_R32I) } + [.storage(totals)],
      push: [
        rows, block.pitch / 4, scores.past, scores.freshStart, scores.fresh, block.perGroup,
        block.queries, block.first, scores.window,
      ].map { UInt32($0) },
      groups: Self.grid(rows),
      work: rows * block.pitch * 16
    )
  }

  private mutating func mix(
    _ block: GPUAttentionBlock,
    _ scratch: GPURange,
    _ totals: GPURange,
    _ run: GPUKeys,
    _ target: GPURange,
    adds: Bool,
    _ clamp: (lower: Float, upper: Float)?,
    isLast: Bool
  ) throws {
    let pitch = block.pitch / 4
    let product = GPUProduct(
      rows: block.queries * block.perGroup,
      columns: block.width,
      depth: (run.rows + 3) / 4,
      group: block.perGroup,
      left: (
        run.column / 4, block.perGroup * pitch, pitch, block.queries * block.perGroup * pitch
      ),
      right: run.steps(groups: block.groups, fours: block.width / 4),
      result: (
        block.first * block.heads * block.width, block.heads * block.width, block.width,
        block.perGroup * block.width
      ),
      batches: block.groups,
      blocks: run.rows,
      rounds: isLast,
      roundsRight: run.rounds,
      adds: adds,
      clamp: isLast ? clamp : nil,
      limit: run.limit
    )
    try plain(
      product,
      scratch,
      run.values,
      target,
      numbers: run.numbers,
      totals: totals,
      rightFormat: run.format
    )
  }

  mutating func banded(_ node: Node, _ window: Int, _ cap: Float) throws {
    let shape = node.type.shape
    let isWide = shape.last % 4 == 0
    let format = isWide ? TG_RGBA32F : TG_R32F
    let rows = shape[0] * shape[1]
    let operands = try node.inputs.dropLast().map { GPUOperand.texels(try range(of: $0), format) }
    emit(
      .banded,
      [UInt32(context.device.subgroupSize), 1, isWide ? 1 : 0, UInt32(window)],
      operands + [.texels(try range(of: node.inputs[4]), TG_R32I), .storage(result(node))],
      push: [
        UInt32(rows), UInt32(shape[1]), UInt32(isWide ? shape.last / 4 : shape.last),
        cap.bitPattern,
      ],
      groups: Self.grid(rows),
      work: shape.elementCount * window * 6
    )
  }

  mutating func cacheUpdate(_ node: Node) throws {
    let fresh = graph.nodes[node.inputs[1]].type.shape
    let width = fresh.elementCount / max(fresh[0], 1)
    let cache = graph.nodes[node.inputs[0]]
    let old = try range(of: cache.id)
    var target = old
    var isHalf = false
    if case .state(let name) = old.place {
      writes(state: name)
      place(node.id, at: old)
      isHalf = cache.type.dtype == .f16
    } else {
      target = result(node)
      copy(old, target, count: node.type.shape.elementCount, rounds: false)
    }
    let words = isHalf ? width / 2 : width
    emit(
      .cache,
      [UInt32(lanes), 0, 0, isHalf ? 1 : 0],
      [
        .texels(try range(of: node.inputs[1]), TG_R32F), .storage(target),
        .texels(try range(of: node.inputs[2]), TG_R32I),
        .texels(try range(of: node.inputs[3]), TG_R32I),
      ],
      push: [UInt32(fresh[0]), UInt32(words), UInt32(cache.type.shape[0])],
      groups: texelGrid(fresh[0] * words),
      work: fresh.elementCount * 8,
      isUpdate: isHalf || target == old
    )
  }
}

/// Some queries of an attention.
private struct GPUAttentionBlock {
  let first: Int
  let queries: Int
  let heads: Int
  let groups: Int
  let width: Int
  /// Columns of a row of scores, whole texels.
  let pitch: Int

  /// Heads that share a group's keys.
  var perGroup: Int { heads / groups }
}
