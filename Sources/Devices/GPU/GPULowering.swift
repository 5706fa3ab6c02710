import CGPU
import Graph

/// Turns a segment into dispatches: views cost nothing, constants are made when they are read,
/// every stored result is one that f16 can hold.
struct GPULowering {
  let context: GPUContext
  let graph: Graph
  /// Where constants come from; nil where only the layout is wanted.
  let source: (any WeightSource)?
  let store: GPUWeightStore
  /// Sizes of product tiles.
  let tiles: GPUTiles
  /// How many nodes and outputs read each node.
  let useCounts: [Int]
  private(set) var program: GPUProgram
  private(set) var matrices: [GPUMatrix] = []
  /// Bytes of constants, packed matrices apart, and of those by name.
  private(set) var constantByteCount = 0
  var convertedWeights: [String: Int] = [:]
  private var ranges: [GPURange?]
  private var constantRanges: [Int: GPURange] = [:]
  /// Writes into states, which come after everything that reads them as they were.
  private var updates: [GPUDispatch] = []
  private var zeros: GPURange?

  init(
    _ graph: Graph,
    over source: (any WeightSource)?,
    context: GPUContext,
    store: GPUWeightStore
  ) throws {
    self.context = context
    tiles = context.tiles
    self.graph = graph
    self.source = source
    self.store = store
    useCounts = graph.useCounts
    program = GPUProgram(graph: graph)
    ranges = Array(repeating: nil, count: graph.nodes.count)
    for node in graph.nodes where !graph.isConstant(node.id) && ranges[node.id] == nil {
      try lower(node)
    }
    program.dispatches += updates
    for output in graph.outputs { try bind(output) }
  }

  private mutating func lower(_ node: Node) throws {
    switch node.op {
    case .input: try bind(node)
    case .constant: break
    case .unary, .affine, .clamp, .softcap, .gatedGelu: try elementwise(node)
    case .binary(let kind): try binary(node, kind)
    case .cast: ranges[node.id] = try range(of: node.inputs[0])
    case .linear: try linear(node)
    case .matmul(let transposed): try matmul(node, transposed: transposed)
    case .rmsNorm, .layerNorm, .softmax: try rows(node)
    case .argmax: throw declined(node, "argmax is done while sampling")
    case .reduce(let kind, let axis): try reduce(node, kind, axis)
    case .rotaryTable: try rotaryTable(node)
    case .rotate(let axes): try rotate(node, axes)
    case .attention(let scale): try attention(node, scale)
    case .cachedAttention(let scale, let window): try cachedAttention(node, scale, window)
    case .bandedAttention(let window, let cap): try banded(node, window, cap)
    case .maskedAttention: throw declined(node, GPUProfile.maskedReason)
    case .attentionMask, .countMask: try mask(node)
    case .cacheUpdate: try cacheUpdate(node)
    case .gather: try gather(node)
    case .reshape: ranges[node.id] = try range(of: node.inputs[0])
    case .transpose(let permutation): try transpose(node, permutation)
    case .slice(let axis, let start, _): try slice(node, axis, start)
    case .concat(let axis): try concat(node, axis)
    case .pad(let axis, let before, _): try pad(node, axis, before)
    case .conv2D(let stride, let padding): try convolution(node, stride, padding)
    case .causalDepthwiseConv: try depthwise(node)
    }
  }

  // MARK: Places

  /// Memory in the arena.
  mutating func slot(_ byteCount: Int) -> GPURange {
    program.slots.append(GPUSlot(byteCount: (max(byteCount, 4) + 15) / 16 * 16))
    return GPURange(place: .slot(program.slots.count - 1), byteCount: max(byteCount, 4))
  }

  /// Memory for a node's result, f32 or i32.
  mutating func result(_ node: Node) -> GPURange {
    let range = slot(node.type.shape.elementCount * 4)
    ranges[node.id] = range
    return range
  }

  /// Keeps a matrix of literal numbers with the program.
  mutating func own(_ matrix: GPUMatrix) -> GPUMatrix {
    matrices.append(matrix)
    return matrix
  }

  mutating func place(_ node: Int, at range: GPURange) { ranges[node] = range }

  /// Where a node's result lies; constants are made here.
  mutating func range(of id: Int) throws -> GPURange {
    if let range = ranges[id] ?? constantRanges[id] { return range }
    guard graph.isConstant(id) else { throw declined(graph.nodes[id], "has no place") }
    let readers = graph.nodes.filter { $0.inputs.contains(id) }
    let isRates = readers.allSatisfy { $0.op == .rotaryTable }
    var numbers = try constant(id).numbers
    if !isRates { numbers = numbers.map { ElementCoding.rounded($0, to: .f16) } }
    let range = try constant(numbers)
    constantRanges[id] = range
    return range
  }

  /// Numbers that live as long as the program.
  mutating func constant(_ numbers: [Float]) throws -> GPURange {
    let padded = numbers + [Float](repeating: 0, count: (4 - numbers.count % 4) % 4)
    return try padded.withUnsafeBytes { try constant($0, byteCount: numbers.count * 4) }
  }

  mutating func constant(_ bytes: UnsafeRawBufferPointer, byteCount: Int) throws -> GPURange {
    constantByteCount += bytes.count
    guard source != nil else { return Self.unbound(byteCount) }
    let buffer = try GPUBuffer(context, byteCount: bytes.count)
    if let base = bytes.baseAddress { try buffer.upload(base, byteCount: bytes.count) }
    return keep(buffer, byteCount: byteCount)
  }

  /// Stands for a constant's memory where only the layout is wanted.
  static func unbound(_ byteCount: Int) -> GPURange {
    GPURange(place: .constant(0), byteCount: byteCount)
  }

  /// Counts a constant that is not made of numbers.
  mutating func count(_ byteCount: Int) { constantByteCount += byteCount }

  /// What the program takes of memory.
  var footprint: Footprint {
    let layout = GPULayout(program, alignment: context.device.alignment)
    var footprint = Footprint()
    footprint.arenaByteCount =
      layout.byteCount + (context.device.isUnified ? 0 : layout.stagedByteCount)
    footprint.constantByteCount = constantByteCount
    footprint.convertedWeights = convertedWeights
    return footprint
  }

  mutating func keep(_ buffer: GPUBuffer, byteCount: Int) -> GPURange {
    program.constants.append(buffer)
    return GPURange(place: .constant(program.constants.count - 1), byteCount: byteCount)
  }

  /// A packed weight, kept with the program.
  mutating func matrix(_ bytes: UnsafeRawPointer, _ type: TensorType) throws -> GPUMatrix {
    let matrix = try store.matrix(context, bytes, type)
    matrices.append(matrix)
    return matrix
  }

  /// What bindings point to that a shader does not look at.
  mutating func unused() throws -> GPURange {
    if let zeros { return zeros }
    let range = try constant([0, 0, 0, 0])
    zeros = range
    return range
  }

  func declined(_ node: Node, _ reason: String) -> DeviceError {
    .declined(unit: UnitNames.gpu, node: node.name, reason: reason)
  }

  // MARK: Dispatches

  mutating func emit(
    _ shader: GPUShader,
    _ constants: [UInt32],
    _ operands: [GPUOperand],
    push: [UInt32],
    groups: (x: Int, y: Int, z: Int),
    work: Int,
    isUpdate: Bool = false
  ) {
    var (shader, constants, groups) = (shader, constants, groups)
    if context.family == .tiles, let tiled = shader.tiled {
      // Workgroups of 256 own 64 columns of their rows; push constants begin with both sizes.
      let rows = tiles.sharedRows(of: Int(push[0]))
      shader = tiled
      constants[0] = 256
      constants[3] = UInt32(rows)
      if shader == .tiledHalf, tiles.shared.usesMatrices, push[0] > 16,
        let matrix = context.device.matrix
      {
        shader = .matrixHalf
        constants += (matrix + [context.device.subgroupSize]).map { UInt32($0) }
      }
      groups = (Int(push[1] + 63) / 64, (Int(push[0]) + rows - 1) / rows, groups.z)
    }
    let dispatch = GPUDispatch(
      pipeline: GPUPipeline(shader: shader, pushCount: push.count, constants: constants),
      operands: operands,
      push: push,
      groups: groups,
      work: work
    )
    if isUpdate {
      updates.append(dispatch)
    } else {
      program.dispatches.append(dispatch)
    }
  }

  /// Invocations of a workgroup that works on single texels.
  var lanes: Int { context.family == .texels ? 32 : 128 }

  /// Workgroups in rows of at most 65535.
  static func grid(_ count: Int) -> (x: Int, y: Int, z: Int) {
    let rows = (count + 65_534) / 65_535
    return ((count + max(rows, 1) - 1) / max(rows, 1), max(rows, 1), 1)
  }

  /// Workgroups of `lanes` invocations for a number of texels.
  func texelGrid(_ count: Int) -> (x: Int, y: Int, z: Int) {
    Self.grid(max((count + lanes - 1) / lanes, 1))
  }

  // MARK: Bindings

  private mutating func bind(_ node: Node) throws {
    if isState(node) {
      ranges[node.id] = GPURange(place: .state(node.name), byteCount: node.type.byteCount)
      program.states.append(node.name)
      return
    }
    let stored = slot(node.type.byteCount)
    guard case .slot(let index) = stored.place else { return }
    program.slots[index].isInput = true
    program.inputs.append(
      GPUProgram.Input(name: node.name, slot: index, byteCount: node.type.byteCount)
    )
    switch node.type.dtype {
    case .f32:
      ranges[node.id] = stored
      copy(stored, stored, count: node.type.shape.elementCount, rounds: true)
    case .f16:
      let single = result(node)
      copy(stored, single, count: node.type.shape.elementCount, rounds: false, isHalf: true)
    default: ranges[node.id] = stored
    }
  }

  /// Whether an input is a cache, used where it lies.
  private func isState(_ node: Node) -> Bool {
    let readers = graph.nodes.filter { $0.inputs.contains(node.id) }
    guard !readers.isEmpty, !graph.outputs.contains(where: { $0.node == node.id }),
      node.type.dtype != .f16 || node.type.shape.elementCount / node.type.shape[0] % 2 == 0
    else { return false }
    return readers.allSatisfy { reader in
      switch reader.op {
      case .cachedAttention:
        reader.inputs.enumerated().allSatisfy { $0.element != node.id || (1...2) ~= $0.offset }
      case .cacheUpdate:
        reader.inputs.enumerated().allSatisfy { $0.element != node.id || $0.offset == 0 }
          && isInPlace(reader)
      default: false
      }
    }
  }

  /// Whether a cache update may write where the old rows lie.
  func isInPlace(_ update: Node) -> Bool {
    let cache = graph.nodes[update.inputs[0]]
    return useCounts[update.id] == 1
      && graph.outputs.contains {
        $0.node == update.id && $0.isState && $0.name == cache.name && cache.op == .input
      }
  }

  mutating func writes(state name: String) { program.writtenStates.insert(name) }

  mutating func gathers(_ gather: GPUProgram.HostGather) { program.gathers.append(gather) }

  /// Marks a slot as filled before the first dispatch.
  mutating func fillsBefore(_ range: GPURange) {
    if case .slot(let index) = range.place { program.slots[index].isInput = true }
  }

  private mutating func bind(_ output: Graph.Output) throws {
    let node = graph.nodes[output.node]
    var range = try range(of: output.node)
    if case .state = range.place { return }
    let count = node.type.shape.elementCount
    if node.type.dtype == .f16 {
      let target = slot(count * 2)
      emit(
        .halves,
        [UInt32(lanes), 1, 0],
        [.texels(range, TG_R32F), .storage(target)],
        push: [UInt32(count)],
        groups: texelGrid((count + 1) / 2),
        work: count * 8
      )
      range = target
    } else if case .constant = range.place {
      let target = slot(count * 4)
      copy(range, target, count: count, rounds: false)
      range = target
    }
    guard case .slot(let index) = range.place else { return }
    program.slots[index].isOutput = true
    program.outputs.append(GPUProgram.Output(name: output.name, range: range))
  }

  /// Copies numbers, rounding them to f16 or widening them from it.
  mutating func copy(
    _ source: GPURange,
    _ target: GPURange,
    count: Int,
    rounds: Bool,
    isHalf: Bool = false
  ) {
    let isWide = count % 4 == 0
    let format =
      isHalf ? (isWide ? TG_RGBA16F : TG_R16F) : (isWide ? TG_RGBA32F : TG_R32F)
    emitElementwise(
      operation: 0,
      source,
      format,
      nil,
      target,
      texels: isWide ? count / 4 : count,
      isWide: isWide,
      rounds: rounds
    )
  }
}
