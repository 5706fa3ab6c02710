extension Timeline {
  /// Why a unit had nothing to run.
  public enum Cause: Hashable, Sendable, CustomStringConvertible {
    /// What it ran next needed a result of another unit, or of the host.
    case data(from: UnitID)
    /// What it ran next needed bytes that were on their way.
    case transfer
    /// What it ran next could have started: the queue and its launch took the time.
    case queue
    /// Nothing was left for it.
    case finished

    /// In words, as traces label it.
    public var description: String {
      switch self {
      case .data(let unit): "waiting for data from \(unit)"
      case .transfer: "waiting for a transfer"
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
    let byTask = Dictionary(
      events.compactMap { event in event.task.map { ($0, event) } },
      uniquingKeysWith: { first, second in
        first.endNanoseconds >= second.endNanoseconds ? first : second
      }
    )
    var result: [Idle] = []
    var time = startNanoseconds
    func add(until end: Int, _ cause: Cause) {
      guard end > time else { return }
      result.append(Idle(startNanoseconds: time, endNanoseconds: end, cause: cause))
      time = end
    }
    for event in events where event.unit == unit {
      for wait in waits(before: event, on: unit, byTask) {
        add(until: min(wait.end, event.startNanoseconds), wait.cause)
      }
      add(until: event.startNanoseconds, .queue)
      time = max(time, event.endNanoseconds)
    }
    add(until: endNanoseconds, .finished)
    return result
  }
  /// What an event waited for, in order of time: where the host only hands something on, what the host
  /// waited for comes first.
  private func waits(
    before event: Event,
    on unit: UnitID,
    _ byTask: [Int: Event]
  ) -> [(end: Int, cause: Cause)] {
    let needed = event.after.compactMap { byTask[$0] }
      .max { $0.endNanoseconds < $1.endNanoseconds }
    guard let needed, needed.unit != unit || needed.kind == .transfer else { return [] }
    let cause = needed.kind == .transfer ? Cause.transfer : .data(from: needed.unit)
    var waits: [(end: Int, cause: Cause)] = []
    if needed.unit == .host, unit != .host {
      waits = self.waits(before: needed, on: unit, byTask)
        .map { (min($0.end, needed.startNanoseconds), $0.cause) }
    }
    return waits + [(needed.endNanoseconds, cause)]
  }
}
