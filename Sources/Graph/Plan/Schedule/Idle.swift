extension Timeline {
  /// Why a unit had nothing to run.
  public enum Cause: Hashable, Sendable, CustomStringConvertible {
    /// What it ran next needed a result of another unit, or of the host.
    case data(from: UnitID)
    /// What it ran next needed bytes that were on their way.
    case transfer
    /// What it ran next was compiled.
    case compiling
    /// What it ran next could have started: the queue and its launch took the time.
    case queue
    /// Nothing was left for it.
    case finished

    /// In words, as traces label it.
    public var description: String {
      switch self {
      case .data(let unit): "waiting for data from \(unit)"
      case .transfer: "waiting for a transfer"
      case .compiling: "compiling"
      case .queue: "queue"
      case .finished: "nothing left"
      }
    }
  }

  /// A stretch in which a unit ran nothing.
  public struct Idle: Hashable, Sendable {
    /// Its start, nanoseconds since the timeline's origin.
    public let startNanoseconds: Int
    /// Its end, nanoseconds since the timeline's origin.
    public let endNanoseconds: Int
    /// Why.
    public let cause: Cause

    /// A stretch from its parts.
    public init(startNanoseconds: Int, endNanoseconds: Int, cause: Cause) {
      self.startNanoseconds = startNanoseconds
      self.endNanoseconds = endNanoseconds
      self.cause = cause
    }

    /// How long it was.
    public var nanoseconds: Int { endNanoseconds - startNanoseconds }
  }

  /// The stretches between the timeline's start and end in which a unit ran nothing, in order.
  ///
  /// Busy and idle time of a unit add up to the makespan where its events do not overlap.
  public func idle(of unit: UnitID) -> [Idle] {
    var result: [Idle] = []
    forEachIdle(of: unit) { result.append($0) }
    return result
  }

  /// Hands over the same stretches one by one.
  public func forEachIdle(of unit: UnitID, _ body: (Idle) throws -> Void) rethrows {
    try forEachIdle(of: unit, positions, body)
  }

  /// The same with the positions of tasks, which do not depend on the unit.
  public func forEachIdle(
    of unit: UnitID,
    _ positions: TaskPositions,
    _ body: (Idle) throws -> Void
  ) rethrows {
    var time = startNanoseconds
    func add(until end: Int, _ cause: Cause) throws {
      guard end > time else { return }
      try body(Idle(startNanoseconds: time, endNanoseconds: end, cause: cause))
      time = end
    }
    for event in events where event.unit == unit {
      for wait in waits(before: event, on: unit, positions) {
        try add(until: min(wait.end, event.startNanoseconds), wait.cause)
      }
      try add(until: event.startNanoseconds, .queue)
      // What is compiled is time without work of what waits for it, unless something else ran then.
      if event.kind != .compile { time = max(time, event.endNanoseconds) }
    }
    try add(until: endNanoseconds, .finished)
  }

  /// What an event waited for, in order of time: where the host only hands something on, what the host
  /// waited for comes first.
  private func waits(
    before event: Event,
    on unit: UnitID,
    _ positions: TaskPositions
  ) -> [(end: Int, cause: Cause)] {
    let needed = event.after.compactMap { positions[$0] }.map { events[$0] }
      .max { $0.endNanoseconds < $1.endNanoseconds }
    guard let needed else { return [] }
    let cause: Cause
    switch needed.kind {
    case .compile: cause = .compiling
    case .transfer: cause = .transfer
    default:
      guard needed.unit != unit else { return [] }
      cause = .data(from: needed.unit)
    }
    var waits: [(end: Int, cause: Cause)] = []
    if needed.unit == .host, unit != .host {
      waits = self.waits(before: needed, on: unit, positions)
        .map { (min($0.end, needed.startNanoseconds), $0.cause) }
    }
    return waits + [(needed.endNanoseconds, cause)]
  }

  /// Where the event of each task stands, the one that ends last where there are several.
  public var positions: TaskPositions { TaskPositions(events) }
}

/// Where the events of tasks stand in a timeline.
public struct TaskPositions: Sendable {
  /// By task number; below 0 where there is none.
  private var positions: [Int32] = []

  /// Positions of events, whose task numbers follow one another.
  init(_ events: [Timeline.Event]) {
    positions.reserveCapacity(events.count)
    for (position, event) in events.enumerated() {
      guard let task = event.task, task >= 0 else { continue }
      while positions.count <= task { positions.append(-1) }
      let known = Int(positions[task])
      guard known < 0 || events[known].endNanoseconds < event.endNanoseconds else { continue }
      positions[task] = Int32(position)
    }
  }

  /// The position of a task's event; nil where there is none.
  public subscript(_ task: Int) -> Int? {
    positions.indices.contains(task) && positions[task] >= 0 ? Int(positions[task]) : nil
  }
}
