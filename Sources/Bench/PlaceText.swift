import Graph
import Models
import Troika

/// Placements side by side, for people and programs.
enum PlaceText {
  typealias Named = (name: String, simulation: Simulation)

  static func comparison(_ entries: [Named]) -> [String] {
    let columns = ["first token ms", "tokens/s", "energy J", "MiB"]
    var lines = [
      TimelineText.pad("placement", 25) + TimelineText.left(columns[0], 22)
        + TimelineText.left(columns[1], 17) + TimelineText.left(columns[2], 9)
        + TimelineText.left(columns[3], 7)
    ]
    for (name, simulation) in entries {
      let rate = simulation.tokensPerSecond
      let joules = simulation.joules.map { Format.fixed($0.value, 1) } ?? "-"
      let row =
        TimelineText.left(range(simulation.firstToken * 1e-6, 0), 22)
        + TimelineText.left(range(rate, 1), 17) + TimelineText.left(joules, 9)
        + TimelineText.left("\(simulation.peakByteCount >> 20)", 7)
      if name.count > 24 {
        lines += PlanText.wrapped("", name, separator: ",") + [TimelineText.pad("", 25) + row]
      } else {
        lines.append(TimelineText.pad(name, 25) + row)
      }
    }
    return lines + [""] + verdicts(entries)
  }

  /// Which of two is faster, where anybody can tell.
  private static func verdicts(_ entries: [Named]) -> [String] {
    var lines: [String] = []
    for (index, left) in entries.enumerated() {
      for right in entries[(index + 1)...] {
        lines += PlanText.wrapped(
          "",
          "\(left.name) / \(right.name): "
            + verdict("first token", left, right, \.firstToken) + "; "
            + verdict("decode", left, right, \.step)
        )
      }
    }
    return lines
  }

  private static func verdict(
    _ what: String,
    _ left: Named,
    _ right: Named,
    _ path: KeyPath<Simulation, Estimate>
  ) -> String {
    let (one, other) = (left.simulation[keyPath: path], right.simulation[keyPath: path])
    guard one.value > 0, other.value > 0 else { return "\(what) not predicted" }
    if one.overlaps(other) { return "\(what) not distinguishable" }
    let winner = one.value < other.value ? left.name : right.name
    let ratio = max(one.value, other.value) / min(one.value, other.value)
    return "\(what) \(Format.fixed(ratio, 2)) times faster with \(winner)"
  }

  static func search(
    _ result: PlacementSearch.Result,
    _ objective: PlacementSearch.Objective
  ) -> [String] {
    var lines = PlanText.wrapped("best        ", "\(result.best.placement)", separator: ",")
    lines.append("            " + figures(result.best))
    lines.append(
      "            optimal: of \(result.combinations) combinations \(result.valued) valued, the rest "
        + "ruled out, \(Format.fixed(result.seconds, 2)) s"
    )
    guard let second = result.second else { return lines }
    lines +=
      ["", "runner-up"] + PlanText.wrapped("            ", "\(second.placement)", separator: ",")
    lines.append("            " + figures(second))
    lines += reasons(result.best, second, objective)
    return lines
  }

  private static func figures(_ simulation: Simulation) -> String {
    let joules = simulation.joules.map { ", \(Format.fixed($0.value, 1)) J" } ?? ""
    return "first token \(range(simulation.firstToken * 1e-6, 0)) ms, "
      + "\(Format.fixed(simulation.tokensPerSecond.value, 1)) tokens/s\(joules), "
      + "\(simulation.peakByteCount >> 20) MiB"
  }

  /// Why the runner-up loses.
  private static func reasons(
    _ best: Simulation,
    _ second: Simulation,
    _ objective: PlacementSearch.Objective
  ) -> [String] {
    let isStep = objective == .decode
    let launches = second.launchCount(isStep: isStep) - best.launchCount(isStep: isStep)
    var lines = ["why it loses:"]
    for cause in PlacementDifference(best, second, isStep: isStep).causes.prefix(5) {
      let sign = cause.nanoseconds > 0 ? "+" : ""
      lines.append(
        TimelineText.left("\(sign)\(Format.fixed(cause.nanoseconds / 1e6, 2)) ms", 14) + "  "
          + cause.words
      )
    }
    if launches != 0 {
      lines.append("              \(abs(launches)) \(launches > 0 ? "more" : "fewer") launches")
    }
    let path: KeyPath<Simulation, Estimate> = isStep ? \.step : \.firstToken
    if objective != .memory, objective != .energy,
      best[keyPath: path].overlaps(second[keyPath: path])
    {
      lines.append("the ranges of both overlap: not distinguishable by this profile")
    }
    return lines
  }

  static func json(
    _ result: PlacementSearch.Result,
    _ objective: PlacementSearch.Objective
  ) -> JSONValue {
    let causes =
      result.second.map {
        PlacementDifference(result.best, $0, isStep: objective == .decode).causes
      } ?? []
    return .object(fields: [
      ("objective", .string(objective.rawValue)),
      ("placement", .string("\(result.best.placement)")),
      ("best", SimulationJSON.value(result.best)),
      ("runnerUp", result.second.map { SimulationJSON.value($0) } ?? .null),
      (
        "reasons",
        .array(
          causes.map {
            .object(fields: [
              ("why", .string($0.words)), ("nanoseconds", .number($0.nanoseconds)),
            ])
          }
        )
      ),
      ("combinations", .integer(result.combinations)), ("valued", .integer(result.valued)),
      ("optimal", true), ("seconds", .number(result.seconds)),
    ])
  }

  private static func range(_ estimate: Estimate, _ decimals: Int) -> String {
    "\(Format.fixed(estimate.value, decimals)) (\(Format.fixed(estimate.low, decimals))-"
      + "\(Format.fixed(estimate.high, decimals)))"
  }
}
