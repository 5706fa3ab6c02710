import Graph

/// What a timeline costs beside time.
enum Energy {
  /// Joules: watts of each unit while it is busy, and of everything else all the time.
  static func joules(_ timeline: Timeline, _ profile: DeviceProfile) -> Estimate? {
    let known = profile.units.values.contains { $0.figures[.watts] != nil }
    guard known || profile.host[.watts] != nil else { return nil }
    var total = Estimate.zero
    func add(_ figure: Figure?, _ nanoseconds: Int) {
      guard let figure else { return }
      total =
        total + Estimate(figure.value, low: figure.low, high: figure.high)
        * (Double(nanoseconds) / 1e9)
    }
    for unit in timeline.units {
      add(profile.units[unit]?.figures[.watts], timeline.busyNanoseconds(of: unit))
    }
    add(profile.host[.watts], timeline.makespanNanoseconds)
    return total
  }

  /// Nanoseconds more of a first request: loading and first launches of its programs.
  static func cold(_ launches: [Simulation.Launch], _ profile: DeviceProfile) -> Int {
    let total = launches.reduce(0.0) { sum, launch in
      guard let unit = profile.units[launch.unit], !launch.program.hasPrefix("host.") else {
        return sum
      }
      return sum + (unit[.loadNanoseconds] ?? 0) + (unit[.firstLaunchNanoseconds] ?? 0)
    }
    return Int(clamping: total.rounded())
  }
}
