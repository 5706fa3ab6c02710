/// What ran where and when; from a clock on the wall or a simulated one.
public struct Timeline: Hashable, Sendable {
  /// What an event is.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A launch of a program, or of its part on one unit.
    case launch
    /// Bytes on their way from one unit's memory to another's.
    case transfer
    /// Work of the host around programs.
    case host
    /// A launch that failed.
    case fault
    /// Making a program ready for its first launch: its unit runs nothing meanwhile.
    case compile
  }

  /// One piece of work.
  public struct Event: Hashable, Sendable {
    /// The unit that ran it.
    public let unit: UnitID
    /// The program's name, for example `chunk1.prefill64`.
    public let program: String
    /// What it is.
    public var kind: Kind
    /// Start, nanoseconds since the timeline's origin.
    public let startNanoseconds: Int
    /// End, nanoseconds since the timeline's origin.
    public let endNanoseconds: Int
    /// Number of the task it carried out; events without one have none.
    public var task: Int?
    /// Numbers of the tasks it had to wait for.
    public var after: [Int]

    /// An event from its parts.
    public init(
      unit: UnitID,
      program: String,
      kind: Kind = .launch,
      startNanoseconds: Int,
      endNanoseconds: Int,
      task: Int? = nil,
      after: [Int] = []
    ) {
      self.unit = unit
      self.program = program
      self.kind = kind
      self.startNanoseconds = startNanoseconds
      self.endNanoseconds = endNanoseconds
      self.task = task
      self.after = after
    }

    /// How long it took.
    public var nanoseconds: Int { endNanoseconds - startNanoseconds }
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

  /// The first start.
  public var startNanoseconds: Int { events.first?.startNanoseconds ?? 0 }

  /// The last end.
  public var endNanoseconds: Int { events.reduce(0) { max($0, $1.endNanoseconds) } }

  /// Nanoseconds from the first start to the last end.
  public var makespanNanoseconds: Int { endNanoseconds - startNanoseconds }

  /// Nanoseconds of all events one after another.
  public var serialNanoseconds: Int { events.reduce(0) { $0 + $1.nanoseconds } }

  /// The units that ran anything, by name.
  public var units: [UnitID] { Set(events.map(\.unit)).sorted { $0.name < $1.name } }

  /// Nanoseconds a unit was running something, launches of one unit never overlapping; compiling is
  /// none.
  public func busyNanoseconds(of unit: UnitID) -> Int {
    events.reduce(0) { sum, event in
      event.unit == unit && event.kind != .compile ? sum + event.nanoseconds : sum
    }
  }
}
