/// What ran where and when; from a clock on the wall or a simulated one.
public struct Timeline: Hashable, Sendable {
  /// One launch.
  public struct Event: Hashable, Sendable {
    /// The unit that ran it.
    public let unit: UnitID
    /// The program's name, for example `chunk1.prefill64`.
    public let program: String
    /// Start, nanoseconds since the timeline's origin.
    public let startNanoseconds: Int
    /// End, nanoseconds since the timeline's origin.
    public let endNanoseconds: Int

    /// An event from its parts.
    public init(unit: UnitID, program: String, startNanoseconds: Int, endNanoseconds: Int) {
      self.unit = unit
      self.program = program
      self.startNanoseconds = startNanoseconds
      self.endNanoseconds = endNanoseconds
    }
  }

  /// The events, by start.
  public private(set) var events: [Event] = []

  /// An empty timeline.
  public init() {}

  /// Adds an event, keeping the order of starts.
  public mutating func append(_ event: Event) {
    var index = events.count
    while index > 0, events[index - 1].startNanoseconds > event.startNanoseconds { index -= 1 }
    events.insert(event, at: index)
  }

  /// Nanoseconds from the first start to the last end.
  public var makespanNanoseconds: Int {
    (events.map(\.endNanoseconds).max() ?? 0) - (events.first?.startNanoseconds ?? 0)
  }

  /// Nanoseconds a unit was running something, launches of one unit never overlapping.
  public func busyNanoseconds(of unit: UnitID) -> Int {
    events.filter { $0.unit == unit }.reduce(0) { $0 + $1.endNanoseconds - $1.startNanoseconds }
  }
}
