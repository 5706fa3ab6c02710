import Devices
public import Graph

/// Figures of one unit, or of the host, that nobody measured or published and that a prediction rests
/// on.
public struct Assumption: Hashable, Sendable {
  /// The unit, or the host.
  public let unit: UnitID
  /// Figures of times and rates that are assumed, by their names in profiles.
  public let figures: [String]
  /// The unit's part of all that runs in the request, 0 to 1: how much of the times they decide.
  public let share: Double
  /// Whether its watts are assumed, which decide the energy.
  public let assumesWatts: Bool
}

extension Assumption {
  /// What the prediction of some launches assumes, by the part of the request that rests on it.
  ///
  /// Figures of a value of 0 decide nothing and are left out.
  static func all(_ launches: [Simulation.Launch], _ profile: DeviceProfile) -> [Assumption] {
    var busy: [UnitID: Double] = [:]
    for launch in launches {
      busy[launch.unit, default: 0] += launch.nanoseconds.value * Double(launch.count)
    }
    // In the order of the launches, so that the same request gives the same bits in every process.
    let whole = max(launches.reduce(0) { $0 + $1.nanoseconds.value * Double($1.count) }, 1)
    let order = Set(busy.keys).union([.host]).sorted { $0.name < $1.name }
    return order.compactMap { unit in
      let known = unit == .host ? profile.assumedHostFigures : profile.assumedFigures(of: unit)
      let assumption = Assumption(
        unit: unit,
        figures: known.filter { $0 != UnitFigure.watts.rawValue },
        share: (busy[unit] ?? 0) / whole,
        assumesWatts: known.contains(UnitFigure.watts.rawValue)
      )
      let decidesTime = !assumption.figures.isEmpty && assumption.share > 0
      return decidesTime || assumption.assumesWatts ? assumption : nil
    }.sorted { $0.share > $1.share }
  }
}

extension DeviceProfile {
  fileprivate func assumedFigures(of unit: UnitID) -> [String] {
    guard let unit = units[unit] else { return [] }
    let figures = UnitFigure.allCases.filter { unit.figures[$0]?.isAssumed ?? false }
    let products = unit.products.contains { $0.flopsPerSecond.isAssumed }
    return figures.map(\.rawValue) + (products ? ["products"] : [])
  }

  fileprivate var assumedHostFigures: [String] {
    HostFigure.allCases.filter { host[$0]?.isAssumed ?? false }.map(\.rawValue)
  }
}

extension Figure {
  fileprivate var isAssumed: Bool { provenance == .assumed && value != 0 }
}
