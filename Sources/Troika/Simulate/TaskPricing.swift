import Graph

/// What tasks take on a device.
struct TaskPricing {
  let profile: DeviceProfile

  /// Nanoseconds with their range, and bytes of shared memory.
  func cost(_ work: TaskWork) -> LaunchCost {
    switch work {
    case .host(let times):
      var cost = LaunchCost(nanoseconds: 0, low: 0, high: 0, sharedByteCount: 0)
      for (name, count) in times {
        guard let figure = profile.host[name] else { continue }
        cost.nanoseconds += figure.value * count
        cost.low += figure.low * count
        cost.high += figure.high * count
      }
      return cost
    case .run(let run, let fill, let tower, let left):
      guard let unit = profile.units[run.unit] else {
        return LaunchCost(nanoseconds: 0, low: 0, high: 0, sharedByteCount: 0)
      }
      var cost = unit.cost(run.work, fill: fill, tower: tower, modelError: profile.modelError)
      if let left, let handover = profile.units[left]?.figures[.handoverNanoseconds] {
        cost.nanoseconds += handover.value
        cost.low += handover.low
        cost.high += handover.high
      }
      return cost
    }
  }

  /// What the simulator is given of a cost.
  func task(_ cost: LaunchCost, on unit: UnitID) -> TaskCost {
    let own = profile.units[unit]
    return TaskCost(
      nanoseconds: Int(cost.nanoseconds.rounded()),
      sharedByteCount: cost.sharedByteCount,
      processors: own?.processors ?? 0,
      wakeNanoseconds: Int((own?[.wakeNanoseconds] ?? 0).rounded()),
      wakeAfterNanoseconds: Int((own?[.wakeAfterNanoseconds] ?? 0).rounded())
    )
  }
}
