/// What no schedule of some tasks can beat, given how long each takes.
public struct ScheduleBound: Hashable, Sendable {
  /// The longest chain of tasks that wait for one another.
  public let criticalPathNanoseconds: Int
  /// The unit with the most to do.
  public let busiestUnit: UnitID?
  /// What it has to do, with what must come before its first task and after its last.
  public let busiestNanoseconds: Int
  /// The larger of both.
  public let nanoseconds: Int

  /// The bound of a graph.
  ///
  /// - Parameters:
  ///   - graph: the tasks.
  ///   - durations: nanoseconds of each task by its number.
  /// - Complexity: linear in tasks and dependencies.
  public init(_ graph: TaskGraph, durations: [Int]) {
    // Longest chains in front of and behind each task, without itself.
    var before = [Int](repeating: 0, count: graph.tasks.count)
    var behind = before
    for (id, task) in graph.tasks.enumerated() {
      for earlier in task.after {
        before[id] = max(before[id], before[earlier] + durations[earlier])
      }
    }
    for (id, task) in graph.tasks.enumerated().reversed() {
      for earlier in task.after {
        behind[earlier] = max(behind[earlier], behind[id] + durations[id])
      }
    }
    let chains = graph.tasks.indices.map { before[$0] + durations[$0] + behind[$0] }
    let path = chains.max() ?? 0
    let units = graph.units.map { unit -> (unit: UnitID, nanoseconds: Int) in
      let own = graph.tasks.indices.filter { graph.tasks[$0].unit == unit }
      let busy = own.reduce(0) { $0 + durations[$1] }
      let lead = own.map { before[$0] }.min() ?? 0
      return (unit, lead + busy + (own.map { behind[$0] }.min() ?? 0))
    }
    criticalPathNanoseconds = path
    let busiest = units.max { $0.nanoseconds < $1.nanoseconds }
    busiestUnit = busiest?.unit
    busiestNanoseconds = busiest?.nanoseconds ?? 0
    nanoseconds = max(path, busiestNanoseconds)
  }
}
