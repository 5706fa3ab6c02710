import CKernels
public import Graph

/// This machine's processor: tiled products, fused attention, runs of row operations.
public final class CPUUnit: ComputeUnit, HealthKeeping {
  /// Numbers that became infinite where they were stored as f16, in caches.
  public let health = HealthRecord()
  let pool: WorkerPool
  let arena = Arena()
  private let queue: UnitQueue

  /// The unit.
  ///
  /// - Parameters:
  ///   - threads: threads that work on one launch.
  ///   - processors: the processors they are pinned to; nil leaves that to the system.
  /// - Throws: `DeviceError.unavailable` where no thread can be had.
  public init(threads: Int, processors: [Int]? = nil) throws(DeviceError) {
    pool = try WorkerPool(threads: threads, processors: processors)
    queue = UnitQueue(unit: .cpu, processor: processors?.first)
  }

  /// Every operation on f32, with weights in any format and caches in f16 or f32.
  public let profile = UnitProfile(
    unit: .cpu,
    summary: "kernels for this machine's processor",
    activationTypes: [.f32, .f16, .i32],
    weightTypes: Set(DType.allCases),
    rules: [UnitRule("argmax is done while sampling", source: "this project", .kinds(["argmax"]))]
  )

  /// Makes kernels use one instruction set from now on: `avx512`, `avx2` or `portable`.
  ///
  /// - Throws: `DeviceError.unavailable` where this processor lacks it.
  public static func useKernels(_ name: String) throws(DeviceError) {
    guard tk_use(name) else {
      throw .unavailable(unit: "cpu", reason: "this processor has no \(name) kernels")
    }
  }

  /// Threads that work on one launch.
  public var threads: Int { pool.threads }

  /// The instruction set in use.
  public var instructionSet: String { String(cString: tk_rows_best().pointee.name) }

  /// Lays out a segment's memory and binds its constants.
  ///
  /// - Throws: where a constant cannot be read or an operation is declined.
  public func compile(
    _ segment: Segment,
    over source: any WeightSource
  ) throws -> any Executable {
    try segment.graph.checkVerdicts(of: profile)
    let graph = try segment.graph.applying([GatedGeluFusion()])
    let lowering = try CPULowering(graph, over: source, pool: pool, stores: health)
    return CPUExecutable(arena: arena, pool: pool, queue: queue, lowered: lowering.finish())
  }

  /// The segment's memory as `compile` would lay it out.
  ///
  /// - Throws: where an operation is declined.
  public func footprint(of segment: Segment) throws -> Footprint {
    try segment.graph.checkVerdicts(of: profile)
    let graph = try segment.graph.applying([GatedGeluFusion()])
    return try CPULowering(graph, over: nil, pool: pool).footprint
  }

  /// Copies bytes.
  public func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    queue.submit("copy", after: after) {
      target.pointer.copyMemory(from: source.pointer, byteCount: source.type.byteCount)
    }
  }
}

/// A segment lowered to steps.
final class CPUExecutable: Executable {
  private let arena: Arena
  private let pool: WorkerPool
  private let queue: UnitQueue
  private let lowered: LoweredProgram

  init(arena: Arena, pool: WorkerPool, queue: UnitQueue, lowered: LoweredProgram) {
    self.arena = arena
    self.pool = pool
    self.queue = queue
    self.lowered = lowered
  }

  var footprint: Footprint { lowered.footprint }

  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
    try lowered.graph.check(bindings)
    return queue.submit(lowered.graph.name, after: after) { [lowered, arena, pool] in
      let memory = try arena.atLeast(lowered.footprint.arenaByteCount)
      lowered.run(in: memory, bindings, pool: pool)
    }
  }
}

/// Memory for intermediate results, shared by all programs of a unit: its queue runs one at a time.
final class Arena: @unchecked Sendable {
  private var buffer: Buffer?

  /// Memory of at least this size, whatever it holds.
  ///
  /// - Throws: `DeviceError.outOfMemory`, also where the machine has less: mapping it would succeed
  ///   and touching it end the process.
  func atLeast(_ byteCount: Int) throws(DeviceError) -> UnsafeMutableRawPointer {
    if let buffer, buffer.byteCount >= byteCount { return buffer.pointer }
    let machine = HostMachine.current().memoryByteCount
    guard machine == 0 || byteCount <= machine else {
      throw .outOfMemory(unit: "host", byteCount: byteCount)
    }
    buffer = nil
    let larger = try Buffer(byteCount: byteCount)
    buffer = larger
    return larger.pointer
  }
}

/// Threads that share the tasks of one loop.
final class WorkerPool: @unchecked Sendable {
  let handle: OpaquePointer

  init(threads: Int, processors: [Int]?) throws(DeviceError) {
    var cpus = processors?.map(Int32.init) ?? []
    let usesCPUs = cpus.count >= threads
    let made = cpus.withUnsafeMutableBufferPointer { list in
      tk_pool_create(Int32(threads), usesCPUs ? UnsafePointer(list.baseAddress) : nil)
    }
    guard let made else { throw .unavailable(unit: "cpu", reason: "no worker threads") }
    handle = made
  }

  deinit { tk_pool_destroy(handle) }

  var threads: Int { Int(tk_pool_threads(handle)) }

  /// Runs `body` for tasks 0..<count on all threads.
  func run(_ count: Int, _ body: (Int) -> Void) {
    withoutActuallyEscaping(body) { body in
      var box = TaskBox(body: body)
      withUnsafeMutablePointer(to: &box) { pointer in
        tk_pool_run(
          handle,
          Int32(count),
          { context, task, _ in
            context?.assumingMemoryBound(to: TaskBox.self).pointee.body(Int(task))
          },
          pointer
        )
      }
    }
  }
}

private struct TaskBox {
  let body: (Int) -> Void
}
