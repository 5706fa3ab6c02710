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
    return queue.submit(lowered.graph.name, after: after) { [self] in try run(bindings) }
  }

  func runHere(_ bindings: [String: Value]) throws -> Timeline.Event? {
    try lowered.graph.check(bindings)
    return try queue.perform(lowered.graph.name) { try run(bindings) }
  }

  private func run(_ bindings: [String: Value]) throws {
    let memory = try arena.atLeast(lowered.footprint.arenaByteCount)
    lowered.run(in: memory, bindings, pool: pool)
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
public final class WorkerPool: @unchecked Sendable {
  let handle: OpaquePointer
  /// What programs read first, by what the program before read first: one launch runs at a time.
  private var followers: [UnsafeRawPointer: tk_matrix] = [:]
  private var last: UnsafeRawPointer?

  /// Where threads stay: those that fill the machine on a processor each; fewer are left to the
  /// system, which knows what else runs.
  static func processors(forThreads threads: Int) -> [Int]? {
    let machine = HostMachine.current()
    return threads == machine.processors ? machine.processors(forThreads: threads) : nil
  }

  /// Threads as the units of this machine's processor have them.
  ///
  /// - Throws: `DeviceError.unavailable` where there can be none.
  public convenience init(threads: Int) throws(DeviceError) {
    try self.init(threads: threads, processors: Self.processors(forThreads: threads))
  }

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

  /// How many threads.
  public var threads: Int { Int(tk_pool_threads(handle)) }

  /// Tells idle threads which weights are read next; nil for none.
  ///
  /// They only ask for the memory, which may be gone by then.
  func expect(_ weights: tk_matrix?) {
    guard var weights else { return tk_linear_expect(handle, nil) }
    tk_linear_expect(handle, &weights)
  }

  /// Takes note that a program begins; programs follow one another as they did before.
  ///
  /// - Parameter weights: those it reads first; nil where it reads none as they lie.
  /// - Returns: what the program behind it read first the last time.
  func begin(with weights: tk_matrix?) -> tk_matrix? {
    if let last { followers[last] = weights }
    last = weights?.data
    return last.flatMap { followers[$0] }
  }

  /// Runs `body` for tasks 0..<count on all threads, the caller's among them.
  public func run(_ count: Int, _ body: (Int) -> Void) {
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
