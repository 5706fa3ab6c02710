/// How much of a timeline ran at the same time, and what no schedule of it could beat.
public struct Overlap: Hashable, Sendable {
  /// What one unit did.
  public struct Unit: Hashable, Sendable {
    /// The unit.
    public let unit: UnitID
    /// Nanoseconds it was running something.
    public let busyNanoseconds: Int
    /// Nanoseconds it was running nothing, by cause, in the order of their first stretches.
    public let idle: [(cause: Timeline.Cause, nanoseconds: Int)]

    /// Whether all figures are equal.
    public static func == (left: Unit, right: Unit) -> Bool {
      left.unit == right.unit && left.busyNanoseconds == right.busyNanoseconds
        && left.idle.elementsEqual(right.idle, by: ==)
    }

    /// Feeds all figures.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(unit)
      hasher.combine(busyNanoseconds)
      for (cause, nanoseconds) in idle {
        hasher.combine(cause)
        hasher.combine(nanoseconds)
      }
    }
  }

  /// Nanoseconds of all events one after another.
  public let serialNanoseconds: Int
  /// Nanoseconds from the first start to the last end.
  public let makespanNanoseconds: Int
  /// What no schedule of the same tasks, each as long as it was, could beat.
  public let bound: ScheduleBound
  /// The units, by name.
  public let units: [Unit]

  /// The figures of a timeline.
  public init(_ timeline: Timeline) {
    serialNanoseconds = timeline.serialNanoseconds
    makespanNanoseconds = timeline.makespanNanoseconds
    let (graph, durations) = timeline.taskGraph
    bound = ScheduleBound(graph, durations: durations)
    units = timeline.units.map { unit in
      var causes: [(cause: Timeline.Cause, nanoseconds: Int)] = []
      for idle in timeline.idle(of: unit) {
        if let index = causes.firstIndex(where: { $0.cause == idle.cause }) {
          causes[index].nanoseconds += idle.nanoseconds
        } else {
          causes.append((idle.cause, idle.nanoseconds))
        }
      }
      return Unit(unit: unit, busyNanoseconds: timeline.busyNanoseconds(of: unit), idle: causes)
    }
  }

  /// The serial sum over the makespan: above 1 where anything ran at the same time.
  public var gain: Double {
    Double(serialNanoseconds) / Double(max(makespanNanoseconds, 1))
  }
}

extension Timeline {
  /// The tasks that the events carried out, in the order of their numbers, and how long each took.
  ///
  /// Events without a number are left out; of waiting, what waits for tasks that are there stays. A unit
  /// runs what is there while something else is compiled for it: that counts as a unit of its own.
  public var taskGraph: (graph: TaskGraph, durations: [Int]) {
    var graph = TaskGraph()
    var durations: [Int] = []
    var numbers: [Int: Int] = [:]
    let carried = events.filter { $0.task != nil }.sorted { ($0.task ?? 0) < ($1.task ?? 0) }
    for event in carried {
      let number = graph.add(
        event.program,
        on: event.kind == .compile ? UnitID("compiling for \(event.unit)") : event.unit,
        kind: event.kind,
        after: event.after.compactMap { numbers[$0] }
      )
      durations.append(event.nanoseconds)
      if let task = event.task { numbers[task] = number }
    }
    return (graph, durations)
  }

  /// The events of tasks with numbers below one.
  public func before(task: Int) -> Timeline {
    var part = Timeline()
    for event in events where event.task.map({ $0 < task }) ?? false { part.append(event) }
    return part
  }
}
