import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika plan`: what a placement makes of a model, before anything runs.
enum PlanCommand: Command {
  static let name = "plan"
  static let summary = "show programs, fallbacks, bytes and memory of a placement"
  static let help = """
    usage: troika plan --model DIR --placement P [OPTIONS]
           troika plan --synthetic SIZE --placement P [OPTIONS]

    Prints the programs that a placement compiles: unit, segments, operations, bytes of weights, of
    intermediate results and across units; every fallback with its rule; shares and peak memory.
    Operations are what a unit computes: reshapes are none, masks and cache writes are host work and
    counted apart. Prefill programs are those of a prompt's last batch. Nothing is computed, unless
    --health asks for it. With --profile: what a request takes on that device.

    \(PlacementOptions.help)
      --profile X         predict a request: iphone-17-pro, mac-studio, host, or a file
    \(SimulationOptions.shapes)
      --require UNIT=S    exit 1 unless this share (0 to 1) of the operations of the parts placed on
                          the unit run there; may be repeated
      --health            answer --prompt with the placement and print, operation by operation, what
                          became of fp16 numbers; media options as in generate
      --prompt TEXT       the prompt of --health (Hello)
    \(RequestOptions.mediaHelp)
      --json              one JSON document

    Example:
      troika plan --synthetic e2b --placement mission --context 2048 --require neuralEngine=0.985
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: SimulationOptions.valued.union(RequestOptions.media).union(["require", "prompt"]),
      repeated: RequestOptions.repeated.union(["require"]),
      switches: PlacementOptions.switches.union(["include-audio", "health", "json"])
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let requirements = try requirements(arguments)
    let options = try PlacementOptions(arguments)
    let (planned, given) = try planned(arguments, options)
    let (load, automatic) = options.settled(given, planned)
    let report = try options.locating { try PlanReport(planned, load) }
    let machine = HostMachine.current().memoryByteCount
    let memory = report.memory.warning(machineByteCount: machine)
    for warning in report.warnings + (memory.map { [$0] } ?? []) { Output.warning(warning) }
    let simulation = try predicted(arguments, options, load.placement)
    let health = arguments.has("health") ? try await health(arguments, load) : nil
    if arguments.has("json") {
      var fields = PlanJSON.fields(report)
      if let automatic { fields.append(("placementReason", .string(automatic.reason))) }
      if let health { fields.append(("health", HealthText.json(health))) }
      if let simulation { fields.append(("predicted", SimulationJSON.value(simulation))) }
      Output.line(JSONValue.object(fields: fields).text(.indented, sortingKeys: false))
    } else {
      PlanText.lines(report).forEach { Output.line($0) }
      if let automatic {
        PlanText.wrapped("auto      ", automatic.reason).forEach { Output.line($0) }
      }
      if let health { HealthText.table(health).forEach { Output.line($0) } }
      if let simulation { ([""] + SimulationText.lines(simulation)).forEach { Output.line($0) } }
    }
    return hold(requirements, report)
  }

  private static func planned(
    _ arguments: Arguments,
    _ options: PlacementOptions
  ) throws -> (PlannedModel, Troika.LoadOptions) {
    if arguments["synthetic"] != nil, arguments.has("health") {
      throw UsageError("--health: expected --model, shapes alone answer nothing")
    }
    let planned = try SimulationOptions.planned(arguments, options)
    return (planned, try options.load { planned.model.configuration.text })
  }

  /// What the request takes on a device, where one is named.
  private static func predicted(
    _ arguments: Arguments,
    _ options: PlacementOptions,
    _ placement: Placement
  ) throws -> Simulation? {
    guard arguments["profile"] != nil else { return nil }
    let simulated = try SimulationOptions(arguments)
    return try options.locating {
      try simulated.simulator().simulate(simulated.request(), placement)
    }
  }

  // MARK: - Gates

  private static func requirements(
    _ arguments: Arguments
  ) throws -> [(unit: UnitID, share: Double)] {
    try arguments.options.filter { $0.name == "require" }.map { option in
      let sides = option.value.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, let unit = try? UnitID(known: String(sides[0])),
        let share = Double(sides[1]), (0...1).contains(share)
      else {
        throw UsageError(
          "--require: expected UNIT=SHARE with a share of 0 to 1, got '\(option.value)'"
        )
      }
      return (unit, share)
    }
  }

  private static func hold(
    _ requirements: [(unit: UnitID, share: Double)],
    _ report: PlanReport
  ) -> ExitCode {
    var code = ExitCode.done
    for (unit, wanted) in requirements {
      let share = report.share(of: unit)
      guard share.placed == 0 || share.fraction < wanted else { continue }
      let came =
        share.placed == 0
        ? "no operation is placed there"
        : "\(share.kept) of \(share.placed) operations, \(PlanText.share(share.fraction))"
      Output.error("\(unit): expected a share of \(wanted), came \(came)")
      code = .failed
    }
    return code
  }

  // MARK: - Health

  private static func health(
    _ arguments: Arguments,
    _ load: Troika.LoadOptions
  ) async throws -> [UnitHealth] {
    let options = RequestOptions(arguments: arguments)
    let request = try Request(
      prompt: arguments["prompt"] ?? "Hello",
      media: try options.media(),
      system: arguments["system"],
      options: try options.generation(maxTokens: 8)
    )
    let url = URL(fileURLWithPath: try arguments.required("model"))
    let troika = try await Troika.load(model: url, options: load)
    let response = try await troika.respond(to: request, onProgress: { ProgressLine.show($0) })
    ProgressLine.clear()
    for warning in response.warnings { Output.warning(warning) }
    return troika.health
  }
}
