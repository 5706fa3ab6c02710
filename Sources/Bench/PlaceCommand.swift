import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika place`: experiments with placements.
enum PlaceCommand: Command {
  static let name = "place"
  static let summary = "compare placements, or search for the best one"
  static let help = """
    usage: troika place compare P1 P2 … --simulate PROFILE [OPTIONS]
           troika place search --objective O --simulate PROFILE [OPTIONS]

    compare: time to the first token, tokens per second, energy and memory of placements side by side.
    Two whose ranges overlap are reported as not distinguishable.
    search: the best placement of every chunk, phase and tower over the units of the device, proven by
    branch and bound, and why the runner-up loses.

      --simulate X        the device profile: iphone-17-pro, mac-studio, host, or a file
      --objective O       ttft (default): time to the first token; decode; energy; memory
      --units U,…         units that search may use (those of the profile)
    \(SimulationOptions.shapes)
      --json              one JSON document

    Example:
      troika place search --objective ttft --simulate iphone-17-pro --synthetic e2b --images 1
      troika place compare mission neuralEngine --simulate iphone-17-pro --synthetic e2b --images 1
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: SimulationOptions.valued.union(["simulate", "objective", "units"]),
      repeated: [],
      switches: SimulationOptions.switches.union(["json"])
    )
    guard let kind = arguments.words.first else {
      throw UsageError("place: expected compare, search or run, got nothing")
    }
    let rest = Array(arguments.words.dropFirst())
    switch kind {
    case "compare": return try compare(rest, arguments)
    case "search":
      if let extra = rest.first { throw UsageError("\(extra): expected no such word") }
      return try search(arguments)
    default: throw UsageError("place: expected compare, search or run, got '\(kind)'")
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
    let options = try SimulationOptions(arguments, profile: "simulate")
    let objective =
      try arguments.choice("objective", PlacementSearch.Objective.self) ?? .ttft
    let request = try options.request()
    let search = PlacementSearch(
      try options.simulator(),
      request,
      units: try units(arguments, options.profile),
      objective
    )
    let result = try search.run()
    if arguments.has("json") {
      Output.line(PlaceText.json(result, objective).text(.indented, sortingKeys: false))
    } else {
      PlaceText.search(result, objective).forEach { Output.line($0) }
    }
    return .done
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
