import Graph
import Models
import Troika

extension ReportData {
  // MARK: - Bench

  mutating func add(_ report: BenchReport, _ name: String) {
    sources.append(.init(file: name, kind: "bench", about: "\(report.model), \(report.shapes)"))
    machines.append((name, BenchCommandText.machine(report.machine)))
    benches.append((name, report))
    for refusal in report.refusals {
      exceptions.append(
        .init(
          file: name,
          what: refusal.stage,
          unit: refusal.unit.name,
          reason: refusal.reason,
          count: 1
        )
      )
    }
    for row in report.rows where row.elsewhere > 0 {
      exceptions.append(
        .init(
          file: name,
          what: row.stage,
          unit: row.unit.name,
          reason: "operations that ran elsewhere",
          count: row.elsewhere
        )
      )
    }
  }

  // MARK: - Requests

  mutating func addResponse(_ node: JSONNode) throws {
    let name = node.subject
    let tokens = try node.elements("tokens").count
    sources.append(
      .init(
        file: name,
        kind: "generate",
        about: "\(try node.integer("promptTokens")) tokens in, \(tokens) out"
      )
    )
    lanes.append(try Lanes(title: name, timeline: node.elements("timeline")))
    for warning in try node.optional("warnings")?.elements() ?? [] {
      exceptions.append(
        .init(file: name, what: "request", unit: "", reason: try warning.string(), count: 1)
      )
    }
    guard let simulated = try node.optional("simulated") else { return }
    try addSimulation(simulated, title: "\(name), simulated", group: name)
    try addPairs(node, simulated, tokens: tokens)
  }

  /// An answer beside its prediction, unless that is for a phone.
  private mutating func addPairs(
    _ node: JSONNode,
    _ simulated: JSONNode,
    tokens: Int
  ) throws {
    let name = node.subject
    let profile = try simulated.string("profile")
    guard !KnownProfiles.names.contains(profile) else { return }
    let timings = try node.member("timings")
    pairs.append(
      Pair(
        name: "\(name) on \(profile)",
        figure: "first token",
        predicted: try simulated.estimate("timeToFirstToken") * 1e9,
        measured: .exactly(try timings.double("firstTokenNs"))
      )
    )
    guard tokens > 1, simulated.value["decodeStep"] != nil else { return }
    pairs.append(
      Pair(
        name: "\(name) on \(profile)",
        figure: "decode step",
        predicted: try simulated.estimate("decodeStep"),
        measured: .exactly(try timings.double("decodeNs") / Double(tokens - 1))
      )
    )
  }

  /// A simulated request: its launches, and a placement among those of its group.
  mutating func addSimulation(_ node: JSONNode, title: String, group: String) throws {
    launches.append(
      Launches(
        title: title,
        rows: try node.elements("launches").map { launch in
          Launches.Row(
            program: try launch.string("program"),
            unit: try launch.string("unit"),
            count: try launch.integer("count"),
            time: Estimate(
              try launch.double("nanoseconds"),
              low: try launch.double("low"),
              high: try launch.double("high")
            )
          )
        }
      )
    )
    placed.append(
      try Placed(
        group: "\(group), simulated on \(node.string("profile", or: "a profile"))",
        name: node.string("name", or: node.string("placement", or: title)),
        node
      )
    )
  }

  /// `place compare`: simulated, or measured here.
  mutating func addComparison(_ node: JSONNode) throws {
    let name = node.subject
    let entries = try node.elements()
    sources.append(.init(file: name, kind: "place compare", about: "\(entries.count) placements"))
    for entry in entries {
      if entry.value["timeToFirstToken"] != nil {
        placed.append(
          try Placed(
            group: "\(name), simulated on \(entry.string("profile", or: "a profile"))",
            name: entry.string("name"),
            entry
          )
        )
        continue
      }
      let step = try entry.estimate("decodeStepNs")
      placed.append(
        Placed(
          group: "\(name), measured",
          name: try entry.string("name"),
          firstToken: try entry.estimate("timeToFirstTokenNs"),
          rate: step.value > 0
            ? Estimate(1e9 / step.value, low: 1e9 / step.high, high: 1e9 / step.low) : .zero,
          joules: nil,
          byteCount: try entry.integer("plannedBytes")
        )
      )
    }
  }

  // MARK: - Plans

  mutating func addPlan(_ node: JSONNode) throws {
    let name = node.subject
    sources.append(.init(file: name, kind: "plan", about: try node.string("placement", or: "")))
    for unit in try node.elements("units") {
      shares.append(
        Share(
          file: name,
          unit: try unit.string("unit"),
          operations: try unit.integer("kept"),
          placed: try unit.integer("placed")
        )
      )
    }
    for fallback in try node.elements("fallbacks") {
      exceptions.append(
        .init(
          file: name,
          what: try fallback.strings("programs").joined(separator: " "),
          unit: try fallback.string("unit"),
          reason: try fallback.string("reason"),
          count: try fallback.integer("count")
        )
      )
    }
  }
}

extension ReportData.Placed {
  init(group: String, name: String, _ node: JSONNode) throws {
    self.init(
      group: group,
      name: name,
      firstToken: try node.estimate("timeToFirstToken") * 1e9,
      rate: try node.estimate("decodeTokensPerSecond"),
      joules: try node.optional("energyJoules")?.optional("value")?.double(),
      byteCount: try node.integer("peakBytes", or: 0)
    )
  }
}

extension Estimate {
  /// A value without a range.
  static func exactly(_ value: Double) -> Estimate { Estimate(value, low: value, high: value) }
}

extension JSONNode {
  /// A member as a value with its range.
  func estimate(_ key: String) throws(JSONError) -> Estimate {
    let node = try member(key)
    return Estimate(
      try node.double("value"),
      low: try node.double("low"),
      high: try node.double("high")
    )
  }
}
