import CKernels
import Graph

/// Attention over given keys, or over a cache and this step's rows.
struct AttentionStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private let isCached: Bool
  private var problem = tk_attention()
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph) {
    self.node = node.id
    inputs = node.inputs
    let query = node.type.shape
    problem.tokens = query[0]
    problem.heads = query[1]
    problem.size = query[2]
    let keys = graph.nodes[inputs[1]].type.shape
    problem.groups = keys[1]
    switch node.op {
    case .cachedAttention(let scale, let window):
      isCached = true
      problem.scale = scale
      problem.window = Int64(window ?? 0)
      problem.causal = true
      problem.pastRows = keys[0]
      problem.pastIsHalf = graph.nodes[inputs[1]].type.dtype == .f16
      problem.newRows = graph.nodes[inputs[3]].type.shape[0]
    case .attention(let scale):
      isCached = false
      problem.scale = scale
      problem.newRows = keys[0]
    default: isCached = false
    }
  }

  func scratchByteCount(_ pool: WorkerPool) -> Int {
    var problem = problem
    return tk_attention_scratch(pool.handle, &problem)
  }

  func run(_ frame: Frame) {
    var problem = problem
    problem.query = UnsafePointer(frame.floats(inputs[0]))
    problem.out = frame.floats(node)
    if isCached {
      problem.pastKeys = UnsafeRawPointer(frame.raw(inputs[1]))
      problem.pastValues = UnsafeRawPointer(frame.raw(inputs[2]))
      problem.keys = UnsafePointer(frame.floats(inputs[3]))
      problem.values = UnsafePointer(frame.floats(inputs[4]))
      problem.queryPosition = Int64(frame.integers(inputs[5])[0])
      problem.position = Int64(frame.integers(inputs[6])[0])
      if inputs.count > 7 { problem.blocks = UnsafePointer(frame.integers(inputs[7])) }
    } else {
      problem.keys = UnsafePointer(frame.floats(inputs[1]))
      problem.values = UnsafePointer(frame.floats(inputs[2]))
      if inputs.count > 3 {
        problem.newRows = min(problem.newRows, Int(max(frame.integers(inputs[3])[0], 1)))
      }
    }
    tk_attend(frame.pool.handle, &problem, frame.arena + scratchOffset)
  }
}

/// Attention with a mask, over one run of keys or over a past and new ones.
struct MaskedAttentionStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private var problem = tk_attention()
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph, scale: Float) {
    self.node = node.id
    inputs = node.inputs
    let types = node.inputs.map { graph.nodes[$0].type }
    let hasPast = inputs.count > 4
    problem.tokens = node.type.shape[0]
    problem.heads = node.type.shape[1]
    problem.size = node.type.shape[2]
    problem.groups = types[1].shape[1]
    problem.scale = scale
    problem.pastRows = hasPast ? types[1].shape[0] : 0
    problem.pastIsHalf = hasPast && types[1].dtype == .f16
    problem.newRows = types[hasPast ? 3 : 1].shape[0]
    problem.position = Int64(problem.pastRows)
    problem.maskStride =
      types[inputs.count - 1].shape.rank == 1 ? 0 : problem.pastRows + problem.newRows
  }

  func scratchByteCount(_ pool: WorkerPool) -> Int {
    var problem = problem
    return tk_attention_scratch(pool.handle, &problem)
  }

  func run(_ frame: Frame) {
    var problem = problem
    problem.query = UnsafePointer(frame.floats(inputs[0]))
    problem.out = frame.floats(node)
    problem.mask = UnsafePointer(frame.floats(inputs[inputs.count - 1]))
    let new = problem.pastRows > 0 ? 3 : 1
    if new == 3 {
      problem.pastKeys = UnsafeRawPointer(frame.raw(inputs[1]))
      problem.pastValues = UnsafeRawPointer(frame.raw(inputs[2]))
    }
    problem.keys = UnsafePointer(frame.floats(inputs[new]))
    problem.values = UnsafePointer(frame.floats(inputs[new + 1]))
    tk_attend(frame.pool.handle, &problem, frame.arena + scratchOffset)
  }
}

/// Local attention with relative keys.
struct BandedAttentionStep: CPUStep {
  let node: Int
  private let inputs: [Int]
  private var problem = tk_banded()
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph) {
    self.node = node.id
    inputs = node.inputs
    let query = node.type.shape
    problem.tokens = query[0]
    problem.heads = query[1]
    problem.size = query[2]
    if case .bandedAttention(let window, let softcap) = node.op {
      problem.window = window
      problem.softcap = softcap
    }
  }

  func run(_ frame: Frame) {
    var problem = problem
    problem.query = UnsafePointer(frame.floats(inputs[0]))
    problem.keys = UnsafePointer(frame.floats(inputs[1]))
    problem.values = UnsafePointer(frame.floats(inputs[2]))
    problem.relative = UnsafePointer(frame.floats(inputs[3]))
    problem.count = Int(max(frame.integers(inputs[4])[0], 0))
    problem.out = frame.floats(node)
    tk_attend_banded(frame.pool.handle, &problem)
  }
}

/// Writes new rows into a cache.
///
/// Runs after everything that reads the cache as it was.
struct CacheUpdateStep: CPUStep {
  let node: Int
  private let name: String
  private let inputs: [Int]
  private let cache: TensorType
  private let newRows: Int
  /// Where finite numbers are counted that become infinite in f16.
  private let stores: HealthRecord?
  var scratchOffset = 0

  init(_ node: Node, in graph: Graph, stores: HealthRecord?) {
    self.node = node.id
    name = node.name
    self.stores = stores
    inputs = node.inputs
    cache = node.type
    newRows = graph.nodes[inputs[1]].type.shape[0]
  }

  func run(_ frame: Frame) {
    let (old, target) = (frame.raw(inputs[0]), frame.raw(node))
    if old != target { target.copyMemory(from: old, byteCount: cache.byteCount) }
    let position = Int(frame.integers(inputs[2])[0])
    let count = min(newRows, Int(max(frame.integers(inputs[3])[0], 0)))
    let (rows, width) = (cache.shape[0], cache.shape.elementCount / max(cache.shape[0], 1))
    var health = tk_health()
    for row in 0..<count {
      let start = (position + row) % rows * width
      let new = frame.floats(inputs[1]) + row * width
      if cache.dtype == .f16 {
        let place = target.assumingMemoryBound(to: UInt16.self) + start
        tk_rows_best().pointee.narrowHalf(new, place, width)
        health.overflows += Self.overflows(new, place, width)
      } else {
        (target.assumingMemoryBound(to: Float.self) + start).update(from: new, count: width)
      }
    }
    if health.overflows > 0 { stores?.add(health, to: name) }
  }

  /// Finite numbers that are infinite as stored.
  private static func overflows(
    _ numbers: UnsafePointer<Float>,
    _ halves: UnsafePointer<UInt16>,
    _ count: Int
  ) -> UInt32 {
    var result: UInt32 = 0
    for index in 0..<count where halves[index] & 0x7FFF == 0x7C00 && numbers[index].isFinite {
      result += 1
    }
    return result
  }
}
