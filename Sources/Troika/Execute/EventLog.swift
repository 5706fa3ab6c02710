import Devices
import Graph

/// Events with numbers, and what each waited for.
struct EventLog {
  /// The events so far.
  private(set) var timeline = Timeline()
  /// The number of the next one.
  private(set) var next = 0
  /// The number of the last one; none where there is none.
  var last: [Int] { next > 0 ? [next - 1] : [] }

  /// Adds events that followed one another.
  ///
  /// - Parameter after: numbers of the events that the first had to wait for.
  /// - Returns: numbers of the events that whatever follows has to wait for.
  @discardableResult
  mutating func append(_ events: [Timeline.Event], after: [Int]) -> [Int] {
    var after = after
    for event in events {
      var event = event
      event.task = next
      event.after = Set(after).sorted()
      timeline.append(event)
      after = [next]
      next += 1
    }
    return after
  }

  /// Adds the events of tasks in the order of their numbers.
  ///
  /// - Parameters:
  ///   - graph: what the tasks waited for.
  ///   - reports: by task number.
  ///   - first: what tasks waited for that wait for no other.
  mutating func append(
    _ graph: TaskGraph,
    _ reports: [TaskReport?],
    after first: [Int]
  ) {
    var ends: [[Int]] = []
    for (task, report) in zip(graph.tasks, reports) {
      let after = task.after.isEmpty ? first : task.after.flatMap { ends[$0] }
      ends.append(append(report?.events ?? [], after: after))
    }
  }
}

extension Timeline.Event {
  /// Work of the host that is over now.
  static func host(_ name: String, since start: Int) -> Timeline.Event {
    Timeline.Event(
      unit: .host,
      program: name,
      kind: .host,
      startNanoseconds: start,
      endNanoseconds: MonotonicClock.nanoseconds
    )
  }
}
