import Devices
import Graph
import Models
import Troika

/// `troika verify`: comparison with goldens of the reference implementation.
enum VerifyCommand: Command {
  static let name = "verify"
  static let summary = "compare every stage with goldens of the reference implementation"
  static let help = """
    usage: troika verify --model DIR --goldens DIR [OPTIONS]

    Compares what is computed here with goldens of the reference implementation, a line per stage
    and case. Each stage starts from this program's own previous stage. Exit code 0 only if all
    checks hold.

      --goldens DIR       folder with manifest.json and the goldens
      --stage S           \(Verification.stages.prefix(6).joined(separator: " "))
                          \(Verification.stages.dropFirst(6).joined(separator: " "));
                          may be repeated
      --json              one JSON document
    \(PlacementOptions.help)

    Example:
      troika verify --model goldens/model --goldens goldens --stage text
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: PlacementOptions.valued.union(["goldens", "stage"]).subtracting(["context"]),
      repeated: ["stage"],
      switches: PlacementOptions.switches.union(["json"])
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let options = try PlacementOptions(arguments)
    let (folder, opened) = try options.open()
    let load = options.settled(opened, PlannedModel(folder)).options
    if load.placement.units.contains(.gpu) { Options.announce(load.gpu) }
    let verification = try options.locating {
      try Verification(
        model: folder,
        goldens: try arguments.required("goldens"),
        placement: load.placement,
        registry: Registry(
          threads: try Options.threads(arguments),
          engine: load.engine,
          gpu: load.gpu
        ),
        layout: load.layout,
        prefill: load.prefillShapes,
        sharedLayers: load.sharedLayers,
        allowsFallback: load.allowsFallback
      )
    }
    for warning in verification.warnings { Output.warning(warning) }
    let isJSON = arguments.has("json")
    if !isJSON { verification.report = { Output.line(line($0)) } }
    for option in arguments.options where option.name == "stage" {
      guard Verification.stages.contains(option.value) else {
        let names = Verification.stages.joined(separator: " ")
        throw UsageError("--stage: expected one of \(names), got '\(option.value)'")
      }
    }
    let stages = arguments.options.filter { $0.name == "stage" }.map(\.value)
    let checks = try verification.run(stages: stages.isEmpty ? nil : stages)
    let gated = checks.filter(\.isGated)
    let holding = gated.count(where: \.holds)
    if isJSON {
      let document = json(checks, verification)
      Output.line(document.text(.indented, sortingKeys: false))
    } else {
      for stage in verification.missing { Output.line("\(stage): not run, the set lacks its file") }
      for unit in verification.health { Output.line(unit.summary) }
      Output.line(verdict(gated, holding: holding))
    }
    return holding == gated.count && !gated.isEmpty ? .done : .failed
  }

  private static func verdict(_ checks: [Check], holding: Int) -> String {
    let failures = checks.filter { !$0.holds }
    guard let worst = failures.max(by: { severity($0) < severity($1) }) else {
      return "\(holding) of \(checks.count) checks hold"
    }
    return "\(failures.count) of \(checks.count) checks do not hold; worst: \(line(worst))"
  }

  /// Failed equality counts most, then the largest difference.
  private static func severity(_ check: Check) -> Double { check.maxAbsolute ?? .infinity }

  private static func line(_ check: Check) -> String {
    var parts = [
      !check.isGated ? "note" : check.holds ? "ok  " : "FAIL", "\(check.stage) \(check.name)",
    ]
    if let value = check.maxAbsolute { parts.append("abs \(short(value))") }
    if let value = check.maxRelative { parts.append("rel \(short(value))") }
    if let value = check.minCosine { parts.append("cos \(Format.fixed(value, 6))") }
    parts.append("[\(check.tolerance)]")
    if !check.detail.isEmpty { parts.append(String(check.detail.prefix(200))) }
    return parts.joined(separator: " ")
  }

  private static func short(_ value: Double) -> String { Format.scientific(value) }

  private static func json(_ checks: [Check], _ verification: Verification) -> JSONValue {
    let rows = checks.map { check in
      JSONValue.object(
        fields: [
          ("stage", .string(check.stage)), ("name", .string(check.name)),
          ("maxAbsolute", check.maxAbsolute.map { .number($0) } ?? .null),
          ("maxRelative", check.maxRelative.map { .number($0) } ?? .null),
          ("minCosine", check.minCosine.map { .number($0) } ?? .null),
          ("tolerance", .string(check.tolerance)), ("holds", .bool(check.holds)),
          ("gated", .bool(check.isGated)),
          ("detail", .string(check.detail)),
        ])
    }
    return .object(
      fields: [
        ("checks", .array(rows)), ("holding", .integer(checks.count { $0.isGated && $0.holds })),
        ("total", .integer(checks.count(where: \.isGated))),
        ("missing", .array(verification.missing.map { .string($0) })),
        ("health", .array(verification.health.map { .string($0.summary) })),
      ])
  }
}
