import Graph

/// Launches of a request, counted by program and unit.
struct LaunchTable {
  private(set) var launches: [Simulation.Launch] = []
  private var indices: [String: Int] = [:]

  /// Adds the tasks of a plan; their times are those of a timeline, their ranges those of costs.
  ///
  /// What one launch of a program runs on one unit counts as one.
  mutating func add(_ plan: RequestPlan, _ timeline: Timeline) {
    let costs = plan.costs
    let durations = timeline.durations(count: costs.count)
    var parts: [(program: String, unit: UnitID, time: Estimate)] = []
    for (index, task) in plan.graph.tasks.enumerated() where durations[index] > 0 {
      let cost = costs[index]
      let value = Double(durations[index])
      // Waking up and what others ask of memory come on top.
      let more = value - cost.nanoseconds
      let time = Estimate(
        value,
        low: min(value, max(0, cost.low + more)),
        high: max(value, cost.high + more)
      )
      if index > 0, plan.launches[index] != plan.launches[index - 1] { close(&parts) }
      if let known = parts.firstIndex(where: { $0.unit == task.unit }) {
        parts[known].time = parts[known].time + time
      } else {
        parts.append((task.program, task.unit, time))
      }
    }
    close(&parts)
  }

  private mutating func close(_ parts: inout [(program: String, unit: UnitID, time: Estimate)]) {
    for part in parts { add(part.program, part.unit, part.time) }
    parts = []
  }

  private mutating func add(_ program: String, _ unit: UnitID, _ estimate: Estimate) {
    let key = program + " " + unit.name
    guard let index = indices[key] else {
      indices[key] = launches.count
      launches.append(.init(program: program, unit: unit, count: 1, nanoseconds: estimate))
      return
    }
    let count = Double(launches[index].count)
    let sum = launches[index].nanoseconds * count + estimate
    launches[index].count += 1
    launches[index].nanoseconds = sum * (1 / (count + 1))
  }
}
