import Devices
public import Graph
import Models

/// Finds the best placement of a request's parts over the units of a device.
///
/// Exact: every combination of chunk, phase, tower and unit is valued or ruled out by a bound. What
/// runs before the first token and what runs behind it are searched apart, because no program is part of both.
public struct PlacementSearch {
  /// What is made small.
  public enum Objective: String, Hashable, Sendable, CaseIterable {
    /// Time to the first token.
    case ttft
    /// Time of a decode step.
    case decode
    /// Joules of the whole request.
    case energy
    /// Bytes at most, each phase on one unit.
    case memory
  }

  /// What was found.
  public struct Result: Sendable {
    /// The best placement's simulation.
    public let best: Simulation
    /// The runner-up's.
    public let second: Simulation?
    /// Combinations there are.
    public let combinations: Int
    /// Combinations that were valued; the bound ruled out the rest.
    public let valued: Int
    /// Seconds that the search took.
    public let seconds: Double
  }

  private let simulator: DeviceSimulator
  private let request: RequestShape
  private let units: [UnitID]
  private let objective: Objective

  /// A search.
  ///
  /// - Parameters:
  ///   - simulator: the model on its device.
  ///   - request: the request.
  ///   - units: the units that may be used.
  ///   - objective: what is made small.
  public init(
    _ simulator: DeviceSimulator,
    _ request: RequestShape,
    units: [UnitID],
    _ objective: Objective
  ) {
    self.simulator = simulator
    self.request = request
    self.units = units
    self.objective = objective
  }

  /// Runs the search.
  ///
  /// - Throws: where a unit is not part of the profile, or the request does not fit.
  public func run() throws -> Result {
    let start = MonotonicClock.nanoseconds
    let problem = try SearchProblem(simulator, request, units: units)
    if objective == .memory { return try problem.least(since: start) }
    let (prompt, steps) = try (
      problem.search(problem.promptParts, objective), problem.search(problem.stepParts, objective)
    )
    let placements = problem.placements(prompt, steps, objective)
    guard let best = placements.best else {
      throw DeviceError.unavailable(
        unit: units.map(\.name).joined(separator: ","),
        reason: "no placement over these units runs"
      )
    }
    return Result(
      best: try simulator.simulate(request, best),
      second: try placements.second.map { try simulator.simulate(request, $0) },
      combinations: problem.combinations,
      valued: prompt.valued + steps.valued,
      seconds: Double(MonotonicClock.nanoseconds - start) / 1e9
    )
  }
}

/// The parts of a request and the units each may be on.
private struct SearchProblem {
  typealias Choice = (part: Part, units: [UnitID])

  let simulator: DeviceSimulator
  let request: RequestShape
  let promptParts: [Choice]
  let stepParts: [Choice]

  init(_ simulator: DeviceSimulator, _ request: RequestShape, units: [UnitID]) throws {
    self.simulator = simulator
    self.request = request
    let allowed = try simulator.allowedUnits(among: units)
    func choices(_ parts: [Part]) -> [Choice] { parts.map { ($0, allowed[$0] ?? []) } }
    let chunks = 1...simulator.chunkCount
    func decoder(_ phase: Part.Phase) -> [Part] {
      chunks.map { Part.chunk($0, phase) } + [.head(phase)]
    }
    let kinds = Set(request.mediaRanges.map { request.pieces[$0.piece].part })
    promptParts = choices([Part.vision, .audio].filter(kinds.contains) + decoder(.prefill))
    stepParts = request.maxTokens > 1 ? choices(decoder(.decode)) : []
  }

  var combinations: Int {
    [promptParts, stepParts].reduce(1) { $0 * $1.reduce(1) { $0 * $1.units.count } }
  }

  /// The best and second best units of some parts.
  func search(
    _ parts: [Choice],
    _ objective: PlacementSearch.Objective
  ) throws -> ExactSearch.Result {
    guard let first = parts.first else { return ExactSearch.Result() }
    var isStep = false
    if case .chunk(_, .decode) = first.part { isStep = true }
    let isTime = objective == .ttft || objective == .decode
    let least = isTime ? try simulator.leastTimes(request, parts) : nil
    return try ExactSearch(
      counts: parts.map(\.units.count),
      bound: { least?.bound($0) ?? -.infinity },
      value: { choices in
        let placement = placement(parts, choices)
        switch (objective, isStep) {
        case (.energy, _): return try simulator.joules(request, placement, isStep: isStep)
        case (_, false): return Double(try simulator.firstToken(request, placement))
        case (_, true): return try simulator.stepNanoseconds(request, placement)
        }
      }
    ).run()
  }

  /// The placement of least memory with each phase on one unit: what programs share and what they take
  /// turns with cannot be searched apart.
  func least(since start: Int) throws -> PlacementSearch.Result {
    let towers = promptParts.filter { $0.part == .vision || $0.part == .audio }
    let phases: [(key: String, parts: [Choice])] =
      towers.map { ($0.part.key, [$0]) }
      + [
        ("prefill", promptParts.filter { $0.part != .vision && $0.part != .audio }),
        ("decode", stepParts),
      ].filter { !$0.1.isEmpty }
    let units = phases.map { phase in
      phase.parts[0].units.filter { unit in phase.parts.allSatisfy { $0.units.contains(unit) } }
    }
    func placement(_ choices: [Int]) -> Placement {
      Placement(rules: phases.indices.map { .init(phases[$0].key, units[$0][choices[$0]]) })
        .simplified
    }
    let found = try ExactSearch(counts: units.map(\.count)) { choices in
      Double(try simulator.byteCount(request, placement(choices)))
    }.run()
    guard let best = found.best else {
      throw DeviceError.unavailable(unit: "memory", reason: "no unit compiles a whole phase")
    }
    return PlacementSearch.Result(
      best: try simulator.simulate(request, placement(best.choices)),
      second: try found.second.map { try simulator.simulate(request, placement($0.choices)) },
      combinations: units.reduce(1) { $0 * $1.count },
      valued: found.valued,
      seconds: Double(MonotonicClock.nanoseconds - start) / 1e9
    )
  }

  func placement(_ parts: [Choice], _ choices: [Int]) -> Placement {
    Placement(
      rules: zip(parts, choices).map { Placement.Rule($0.part.key, $0.units[$1]) }
    )
  }

  /// The best of all parts together, and the best that differs from it.
  func placements(
    _ prompt: ExactSearch.Result,
    _ steps: ExactSearch.Result,
    _ objective: PlacementSearch.Objective
  ) -> (best: Placement?, second: Placement?) {
    func joined(_ first: ExactSearch.Answer?, _ second: ExactSearch.Answer?) -> Placement? {
      guard let first else { return nil }
      let rules =
        placement(promptParts, first.choices).rules
        + (second.map { placement(stepParts, $0.choices).rules } ?? [])
      return Placement(rules: rules).simplified
    }
    let best = joined(prompt.best, steps.best)
    // The other half keeps its best; what the objective looks at gives the runner-up.
    let prefersSteps: Bool
    switch objective {
    case .decode: prefersSteps = true
    case .ttft: prefersSteps = false
    case .energy, .memory: prefersSteps = loss(steps) < loss(prompt)
    }
    return (
      best,
      prefersSteps ? joined(prompt.best, steps.second) : joined(prompt.second, steps.best)
    )
  }

  private func loss(_ result: ExactSearch.Result) -> Double {
    guard let best = result.best, let second = result.second else { return .infinity }
    return second.value - best.value
  }
}

extension Part {
  /// The key of a placement that means this part and nothing else.
  var key: String {
    switch self {
    case .vision: "vision"
    case .audio: "audio"
    case .embed: "embed"
    case .chunk(let index, let phase): "\(phase.rawValue).chunk\(index)"
    case .head(let phase): "\(phase.rawValue).head"
    }
  }
}

extension RequestShape.Piece {
  /// The part that encodes it; text has none.
  var part: Part {
    switch self {
    case .text: .embed
    case .image, .frame: .vision
    case .sound: .audio
    }
  }
}

extension Placement {
  /// The same with one key for parts that share their unit.
  var simplified: Placement {
    let phases = Part.Phase.allCases.map(\.rawValue)
    let decoder = rules.filter { rule in phases.contains { rule.key.hasPrefix($0 + ".") } }
    let others = rules.filter { !decoder.contains($0) }
    if Set(decoder.map(\.unit)).count == 1, let unit = decoder.first?.unit {
      return Placement(base: base, rules: others + [Rule("chunks", unit)])
    }
    let joined = phases.flatMap { phase -> [Rule] in
      let own = decoder.filter { $0.key.hasPrefix(phase + ".") }
      guard Set(own.map(\.unit)).count == 1, let unit = own.first?.unit else { return own }
      return [Rule(phase, unit)]
    }
    return Placement(base: base, rules: others + joined)
  }
}
