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
    return lines + [""] + verdicts(entries) + AssumptionText.lines(entries.map(\.simulation))
  }

  /// Which of two is faster, where anybody can tell.
  private static func verdicts(_ entries: [Named]) -> [String] {
    var lines: [String] = []
    for (index, left) in entries.enumerated() {
      for right in entries[(index + 1)...] {
        lines += PlanText.wrapped(
          "",
          "\(left.name) / \(right.name): "
            + verdict(
              "first token",
              (left.name, left.simulation.firstToken),
              (right.name, right.simulation.firstToken)
            ) + "; "
            + verdict(
              "decode",
              (left.name, left.simulation.step),
              (right.name, right.simulation.step)
            )
        )
      }
    }
    return lines
  }

  private typealias NamedTime = (name: String, time: Estimate)

  private static func verdict(_ what: String, _ left: NamedTime, _ right: NamedTime) -> String {
    guard left.time.value > 0, right.time.value > 0 else { return "\(what) not known" }
    if left.time.overlaps(right.time) { return "\(what) not distinguishable" }
    let winner = left.time.value < right.time.value ? left.name : right.name
    let ratio = max(left.time.value, right.time.value) / min(left.time.value, right.time.value)
    return "\(what) \(Format.fixed(ratio, 2)) times faster with \(winner)"
  }

  static func search(
    _ result: PlacementSearch.Result,
    _ objective: PlacementSearch.Objective
  ) -> [String] {
    var lines = PlanText.wrapped("best        ", "\(result.best.placement)", separator: ",")
    lines.append("            " + figures(result.best))
    lines.append(
      objective == .memory
        ? "            the least of \(result.combinations), each phase on one unit"
        : "            optimal: \(result.valued) of \(result.combinations) valued, others ruled "
          + "out, \(Format.fixed(result.seconds, 2)) s"
    )
    lines += AssumptionText.lines([result.best])
    guard let second = result.second else { return lines }
    lines += ["", "runner-up"]
    lines += PlanText.wrapped("            ", "\(second.placement)", separator: ",")
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
      let kind = launches > 0 ? "more" : "fewer"
      lines.append("                \(abs(launches)) \(kind) launches")
    }
    let path: KeyPath<Simulation, Estimate> = isStep ? \.step : \.firstToken
    if objective != .memory, objective != .energy,
      best[keyPath: path].overlaps(second[keyPath: path])
    {
      lines.append("the ranges of both overlap: not distinguishable by this profile")
    }
    return lines
  }

  static func fields(
    _ result: PlacementSearch.Result,
    _ objective: PlacementSearch.Objective
  ) -> [(String, JSONValue)] {
    let causes =
      result.second.map {
        PlacementDifference(result.best, $0, isStep: objective == .decode).causes
      } ?? []
    return [
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
      ("optimal", .bool(objective != .memory)), ("seconds", .number(result.seconds)),
    ]
  }

  // MARK: - Measured

  static func measured(_ names: [String], _ measured: PlacementMeasurement) -> [String] {
    var lines = [
      TimelineText.pad("placement, measured", 25) + TimelineText.left("first token ms", 22)
        + TimelineText.left("ms a token", 19) + TimelineText.left("MiB", 9)
    ]
    for (name, entry) in zip(names, measured.entries) {
      let row =
        TimelineText.left(range(.measured(entry.firstToken) * 1e-6, 1), 22)
        + TimelineText.left(range(.measured(entry.step) * 1e-6, 1), 19)
        + TimelineText.left("\(entry.plannedByteCount >> 20)", 9)
      if name.count > 24 {
        lines += PlanText.wrapped("", name, separator: ",") + [TimelineText.pad("", 25) + row]
      } else {
        lines.append(TimelineText.pad(name, 25) + row)
      }
    }
    let entries = Array(zip(names, measured.entries))
    lines.append("")
    for (index, left) in entries.enumerated() {
      for right in entries[(index + 1)...] {
        let first = verdict(
          "first token",
          (left.0, .measured(left.1.firstToken)),
          (right.0, .measured(right.1.firstToken))
        )
        let step = verdict(
          "decode",
          (left.0, .measured(left.1.step)),
          (right.0, .measured(right.1.step))
        )
        lines += PlanText.wrapped("", "\(left.0) / \(right.0): \(first); \(step)")
      }
    }
    return lines
  }

  static func json(_ names: [String], _ measured: PlacementMeasurement) -> JSONValue {
    .array(
      zip(names, measured.entries).map { name, entry in
        .object(fields: [
          ("name", .string(name)), ("placement", .string("\(entry.placement)")),
          ("timeToFirstTokenNs", SimulationJSON.estimate(.measured(entry.firstToken))),
          ("decodeStepNs", SimulationJSON.estimate(.measured(entry.step))),
          ("firstTokenSamplesNs", .array(entry.firstToken.map { .number($0) })),
          ("decodeStepSamplesNs", .array(entry.step.map { .number($0) })),
          ("plannedBytes", .integer(entry.plannedByteCount)),
          ("tokens", .array(entry.tokens.map { .integer($0) })),
        ])
      }
    )
  }

  private static func range(_ estimate: Estimate, _ decimals: Int) -> String {
    "\(Format.fixed(estimate.value, decimals)) (\(Format.fixed(estimate.low, decimals))-"
      + "\(Format.fixed(estimate.high, decimals)))"
  }
}

extension Estimate {
  /// The median of samples with its range.
  fileprivate static func measured(_ samples: [Double]) -> Estimate {
    PlacementMeasurement.Entry.estimate(samples)
  }
}
