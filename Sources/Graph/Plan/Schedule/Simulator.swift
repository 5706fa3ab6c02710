/// What a task asks of a machine.
public struct TaskCost: Hashable, Sendable {
  /// Nanoseconds where nothing else runs.
  public var nanoseconds: Int
  /// Bytes it moves from and to memory that units share.
  public var sharedByteCount: Int
  /// Processors it keeps busy where they are shared: 0 for units with processors of their own.
  public var processors: Int
  /// Nanoseconds more where its unit has had nothing to do for long.
  public var wakeNanoseconds: Int
  /// Nanoseconds without work that count as long.
  public var wakeAfterNanoseconds: Int

  /// A cost from its parts.
  public init(
    nanoseconds: Int,
    sharedByteCount: Int = 0,
    processors: Int = 0,
    wakeNanoseconds: Int = 0,
    wakeAfterNanoseconds: Int = 0
  ) {
    self.nanoseconds = nanoseconds
    self.sharedByteCount = sharedByteCount
    self.processors = processors
    self.wakeNanoseconds = wakeNanoseconds
    self.wakeAfterNanoseconds = wakeAfterNanoseconds
  }
}

/// What units of a machine have to share; nil where there is enough of it.
public struct SharedResources: Hashable, Sendable {
  /// Bytes a second of the memory behind all units.
  public var bytesPerSecond: Double?
  /// Processors of all units that run on them.
  public var processors: Int?

  /// Resources; nil for no limit.
  public init(bytesPerSecond: Double? = nil, processors: Int? = nil) {
    self.bytesPerSecond = bytesPerSecond
    self.processors = processors
  }
}

/// Runs tasks on a clock of integer nanoseconds.
///
/// Tasks that run at the same time slow each other down as far as what they ask of shared memory or
/// shared processors exceeds what there is; alone a task takes exactly its time.
public struct Simulator: Sendable {
  /// What is shared.
  public let resources: SharedResources

  /// A simulator of a machine.
  public init(_ resources: SharedResources = SharedResources()) { self.resources = resources }

  private struct Running {
    let task: Int
    let unit: Int
    let start: Int
    /// Nanoseconds of work left, alone.
    var left: Double
  }

  /// Start and end of every task, by its number.
  public func times(
    _ graph: TaskGraph,
    _ costs: [TaskCost]
  ) -> [(start: Int, end: Int)] {
    var scheduler = Scheduler(graph)
    var times = [(start: Int, end: Int)](repeating: (0, 0), count: graph.tasks.count)
    var running: [Running] = []
    var ended = [Int?](repeating: nil, count: scheduler.units.count)
    var now = 0
    var free = Array(scheduler.units.indices)
    while !scheduler.isDone {
      for unit in free {
        guard let task = scheduler.start(on: unit) else { continue }
        var nanoseconds = max(costs[task].nanoseconds, 0)
        let isAwake = ended[unit].map { now - $0 <= costs[task].wakeAfterNanoseconds } ?? false
        if !isAwake { nanoseconds += costs[task].wakeNanoseconds }
        running.append(Running(task: task, unit: unit, start: now, left: Double(nanoseconds)))
      }
      free = []
      guard !running.isEmpty else { return times }
      let speeds = speeds(running.map { costs[$0.task] })
      var step = Int.max
      for (index, entry) in running.enumerated() {
        step = min(step, Int(clamping: (entry.left / speeds[index]).rounded(.up)))
      }
      now += step
      for index in running.indices.reversed() {
        running[index].left -= Double(step) * speeds[index]
        guard running[index].left < 0.5 else { continue }
        times[running[index].task] = (running[index].start, now)
        ended[running[index].unit] = now
        for unit in scheduler.finish(running[index].task) where !free.contains(unit) {
          free.append(unit)
        }
        running.remove(at: index)
      }
    }
    return times
  }

  /// The timeline of tasks.
  public func timeline(_ graph: TaskGraph, _ costs: [TaskCost]) -> Timeline {
    var timeline = Timeline()
    let order = times(graph, costs).enumerated().sorted {
      ($0.element.start, $0.offset) < ($1.element.start, $1.offset)
    }
    for (id, time) in order {
      let task = graph.tasks[id]
      timeline.append(
        Timeline.Event(
          unit: task.unit,
          program: task.program,
          kind: task.kind,
          startNanoseconds: time.start,
          endNanoseconds: time.end,
          task: id,
          after: task.after
        )
      )
    }
    return timeline
  }

  /// Speeds of tasks that run together; 1 for one that is not held back.
  private func speeds(_ costs: [TaskCost]) -> [Double] {
    guard costs.count > 1 else { return [Double](repeating: 1, count: costs.count) }
    let processors = costs.reduce(0) { $0 + $1.processors }
    let share = resources.processors.map { min(1, Double($0) / Double(max(processors, 1))) } ?? 1
    let wanted = costs.map { Double($0.sharedByteCount) / Double(max($0.nanoseconds, 1)) * 1e9 }
    let total = wanted.reduce(0, +)
    let memory = resources.bytesPerSecond.map { min(1, $0 / max(total, 1)) } ?? 1
    return costs.indices.map { index in
      let held = costs[index].processors > 0 ? share : 1
      guard memory < 1, let bandwidth = resources.bytesPerSecond else { return held }
      // The part of its time that a task spends on memory grows, the rest does not.
      let part = min(1, wanted[index] / bandwidth)
      return min(held, 1 / (1 - part + part / memory))
    }
  }
}

extension Int {
  /// Nanoseconds from a number: not below 0, at most some hours, so that sums stay in range; 0 for NaN.
  public init(clamping nanoseconds: Double) {
    self = nanoseconds > 0 ? Int(Swift.min(nanoseconds, 1e13)) : 0
  }
}
