import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika place`: experiments with placements.
enum PlaceCommand: Command {
  static let name = "place"
  static let summary = "compare placements, search for the best one, run sweeps"
  static let help = """
    usage: troika place compare P1 P2 … --simulate PROFILE [OPTIONS]
           troika place compare P1 P2 … --model DIR [--prompt TEXT] [MEDIA] [OPTIONS]
           troika place search --objective O --simulate PROFILE [OPTIONS]
           troika place search --objective O --model DIR [--prompt TEXT] [MEDIA] [OPTIONS]
           troika place run EXPERIMENT.json [--out F] [--shard I/N]
           troika place merge F… --out F

    compare: time to the first token, tokens per second, energy and memory of placements side by side,
    simulated or measured here in turns. Two whose ranges overlap are not distinguishable.
    search: the best placement of every chunk, phase and tower over the units of the device, proven by
    branch and bound, and why the runner-up loses. Without --simulate the profile of this machine (see
    calibrate) is searched, and the best and the runner-up are measured.

    \(PlaceRunCommand.help)

      --simulate X        the device profile: iphone-17-pro, mac-studio, host, or a file
      --objective O       ttft (default): time to the first token; decode; energy; memory
      --units U,…         units that search may use (those of the profile)
      --repeat N          measured runs of each placement (5)
      --prompt TEXT       what is asked where placements are measured (Hello)
      --kernels NAME      avx512, avx2 or portable where they are (the best this processor has)
    \(RequestOptions.mediaHelp)
    \(SimulationOptions.shapes)
      --json              one JSON document

    Example:
      troika place search --objective ttft --simulate iphone-17-pro --synthetic e2b --images 1
      troika place compare mission neuralEngine --simulate iphone-17-pro --synthetic e2b --images 1
      troika place compare cpu chunks=neuralEngine --model DIR --prompt "Why is the sky blue?"
      troika place run Examples/experiments/moves.json --out moves.jsonl
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    if words.first == "run" { return try PlaceRunCommand.run(Array(words.dropFirst())) }
    if words.first == "merge" { return try PlaceRunCommand.merge(Array(words.dropFirst())) }
    let arguments = try Arguments(
      words,
      valued: SimulationOptions.valued.union(RequestOptions.media)
        .union(["simulate", "objective", "units", "repeat", "prompt", "kernels"]),
      repeated: RequestOptions.repeated,
      switches: SimulationOptions.switches.union(["json", "include-audio"])
    )
    guard let kind = arguments.words.first else {
      throw UsageError("place: expected compare, search, run or merge, got nothing")
    }
    let rest = Array(arguments.words.dropFirst())
    switch kind {
    case "compare": return try compare(rest, arguments)
    case "search":
      if let extra = rest.first { throw UsageError("\(extra): expected no such word") }
      return try search(arguments)
    default: throw UsageError("place: expected compare, search, run or merge, got '\(kind)'")
    }
  }

  // MARK: - Compare

  private static func compare(_ names: [String], _ arguments: Arguments) throws -> ExitCode {
    guard names.count > 1 else {
      throw UsageError("place compare: expected at least two placements, got \(names.count)")
    }
    guard arguments["placement"] == nil else {
      throw UsageError("--placement: expected placements as words, got the option")
    }
    guard arguments["simulate"] != nil else { return try measure(names, arguments) }
    let simulations = try names.map { name -> (name: String, simulation: Simulation) in
      let options = try SimulationOptions(arguments, profile: "simulate", placement: name)
      return try options.placement.locating {
        (
          name,
          try options.simulator().simulate(
            options.request(),
            options.placement.file.placement
          )
        )
      }
    }
    if arguments.has("json") {
      let entries = simulations.map { name, simulation -> JSONValue in
        .object(fields: [("name", .string(name))] + SimulationJSON.fields(simulation))
      }
      Output.line(JSONValue.array(entries).text(.indented, sortingKeys: false))
    } else {
      PlaceText.comparison(simulations).forEach { Output.line($0) }
    }
    return .done
  }

  // MARK: - Search

  private static func search(_ arguments: Arguments) throws -> ExitCode {
    let isMeasured = arguments["simulate"] == nil
    let options = try SimulationOptions(
      arguments,
      profile: "simulate",
      otherwise: isMeasured ? "host" : nil
    )
    let objective =
      try arguments.choice("objective", PlacementSearch.Objective.self) ?? .ttft
    let request = try isMeasured ? shape(arguments) : options.request()
    let search = PlacementSearch(
      try options.simulator(),
      request,
      units: try units(arguments, options.profile),
      objective
    )
    let result = try search.run()
    let found = [result.best, result.second].compactMap { $0?.placement.description }
    let measured = isMeasured ? try measurement(found, arguments) : nil
    if arguments.has("json") {
      var fields = PlaceText.fields(result, objective)
      if let measured { fields.append(("measured", PlaceText.json(found, measured))) }
      Output.line(JSONValue.object(fields: fields).text(.indented, sortingKeys: false))
      return .done
    }
    PlaceText.search(result, objective).forEach { Output.line($0) }
    if let measured { ([""] + PlaceText.measured(found, measured)).forEach { Output.line($0) } }
    return .done
  }

  // MARK: - Measure

  private static func request(_ arguments: Arguments) throws -> Request {
    let options = RequestOptions(arguments: arguments)
    var generation = GenerationOptions(
      maxTokens: try arguments.integer("max-tokens", in: 1...(1 << 24)) ?? 32
    )
    generation.ignoresStopTokens = true
    return try Request(
      prompt: arguments["prompt"] ?? "Hello",
      media: try options.media(),
      system: arguments["system"],
      options: generation
    )
  }

  /// The lengths of the request that is measured.
  private static func shape(_ arguments: Arguments) throws -> RequestShape {
    let path = try arguments.required("model")
    return try RequestShape(try request(arguments), of: ModelFolder(path: path))
  }

  /// Placements on this machine, in turns.
  private static func measure(_ names: [String], _ arguments: Arguments) throws -> ExitCode {
    let measured = try measurement(names, arguments)
    if arguments.has("json") {
      Output.line(PlaceText.json(names, measured).text(.indented, sortingKeys: false))
    } else {
      PlaceText.measured(names, measured).forEach { Output.line($0) }
    }
    return .done
  }

  private static func measurement(
    _ names: [String],
    _ arguments: Arguments
  ) throws -> PlacementMeasurement {
    try Options.kernels(arguments)
    let folder = try ModelFolder(path: try arguments.required("model"))
    let loads = try names.map { name in
      let options = try PlacementOptions(arguments, placement: name)
      let load = try options.load { folder.model.configuration.text }
      return options.settled(load, PlannedModel(folder)).options
    }
    defer { ProgressLine.clear() }
    return try PlacementMeasurement(
      folder,
      loads,
      try request(arguments),
      repeats: try arguments.integer("repeat", in: 1...10_000) ?? 5
    ) { ProgressLine.show("measuring", share: $0) }
  }

  private static func units(
    _ arguments: Arguments,
    _ profile: DeviceProfile
  ) throws -> [UnitID] {
    guard let given = arguments["units"] else {
      return profile.units.keys.filter { $0 != .reference && $0 != .null }
        .sorted { $0.name < $1.name }
    }
    return try given.split(separator: ",", omittingEmptySubsequences: false).map {
      try UnitID(known: String($0))
    }
  }
}
