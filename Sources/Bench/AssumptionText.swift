import Graph
import Troika

/// What predictions rest on that nobody measured or published, for people.
enum AssumptionText {
  /// Lines about times and about energy, of predictions that stand side by side; none where nothing
  /// is assumed.
  static func lines(_ simulations: [Simulation]) -> [String] {
    var times: [UnitID: Double] = [:]
    var watts: Set<UnitID> = []
    for assumption in simulations.flatMap(\.assumptions) {
      if assumption.assumesWatts { watts.insert(assumption.unit) }
      guard !assumption.figures.isEmpty else { continue }
      times[assumption.unit] = max(times[assumption.unit] ?? 0, assumption.share)
    }
    var lines: [String] = []
    if !times.isEmpty {
      let parts = times.sorted { ($1.value, $0.key.name) < ($0.value, $1.key.name) }.map {
        "\($0.key.name) (\(Format.fixed($0.value * 100, 1))% of what runs)"
      }
      lines += PlanText.wrapped("assumed       ", "times of " + parts.joined(separator: ", "))
    }
    if !watts.isEmpty, simulations.contains(where: { $0.joules != nil }) {
      let names = watts.map(\.name).sorted().joined(separator: ", ")
      lines += PlanText.wrapped("assumed       ", "watts of \(names): so is the energy")
    }
    return lines
  }
}
