import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika simulate`: what a request takes on a device, without running the numbers.
enum SimulateCommand: Command {
  static let name = "simulate"
  static let summary = "predict time, energy and memory of a request on a device profile"
  static let help = """
    usage: troika simulate --model DIR --placement P --profile X [OPTIONS]
           troika simulate --synthetic SIZE --placement P --profile X [OPTIONS]

    Predicts the timeline of a request on a device that need not be here: time to the first token,
    tokens per second, each launch, energy, memory, what no schedule could beat. Every figure has a
    range. Nothing is computed.

    \(SimulationOptions.help)
      --timeline          every launch up to the first decode step
      --trace F           write what would run when, for Perfetto or chrome://tracing
      --repeat N          plan the prompt N times and say how many plans a second that was
      --json              one JSON document

    Example:
      troika simulate --synthetic e2b --placement mission --profile iphone-17-pro \\
        --context 2048 --images 1 --prompt-tokens 20 --max-tokens 64
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: SimulationOptions.valued.union(["trace", "repeat"]),
      repeated: [],
      switches: SimulationOptions.switches.union(["json", "timeline"])
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    if let path = arguments["trace"] { try FileOutput.check(path) }
    let options = try SimulationOptions(arguments)
    let simulation = try options.placement.locating {
      try options.simulator().simulate(options.request(), options.placement.file.placement)
    }
    simulation.warnings.forEach { Output.warning($0) }
    if let count = try arguments.integer("repeat", in: 1...(1 << 24)) {
      try repeated(count, options, simulation)
    }
    if let path = arguments["trace"] { try TraceFile.write(simulation.timeline, to: path) }
    if arguments.has("json") {
      Output.line(SimulationJSON.value(simulation).text(.indented, sortingKeys: false))
    } else {
      SimulationText.lines(simulation).forEach { Output.line($0) }
      if arguments.has("timeline") {
        SimulationText.timeline(simulation).forEach { Output.line($0) }
      }
    }
    return .done
  }

  /// Plans the prompt again and again: what a search does for each combination.
  private static func repeated(
    _ count: Int,
    _ options: SimulationOptions,
    _ simulation: Simulation
  ) throws {
    let simulator = try options.simulator()
    let (request, placement) = (try options.request(), options.placement.file.placement)
    _ = try simulator.firstToken(request, placement)
    let start = MonotonicClock.nanoseconds
    for _ in 0..<count { _ = try simulator.firstToken(request, placement) }
    let seconds = Double(MonotonicClock.nanoseconds - start) / 1e9
    let ratio = simulation.firstToken.value / 1e9 * Double(count) / seconds
    Output.note(
      "\(Int(Double(count) / seconds)) plans a second, \(Int(ratio)) times faster than the device"
    )
  }
}
