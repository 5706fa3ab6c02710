import Devices
import Graph
import Models
import Troika

/// Makes the rows of a sweep, one after another.
final class SweepRunner {
  private struct SimulatorKey: Hashable {
    let model: Int
    let chunks: [Int]
    let prefill: [Int]?
    let context: Int?
    let profile: Int
    let options: [String]
  }

  private let sweep: Sweep
  private var simulators: [SimulatorKey: DeviceSimulator] = [:]
  private var recent: [SimulatorKey] = []
  /// Simulators that are kept: each holds the programs it has traced.
  private static let kept = 32

  init(_ sweep: Sweep) { self.sweep = sweep }

  /// What a cell gives: a result, or why there is none.
  func outcome(of cell: SweepCell) -> (field: (String, JSONValue), isFailed: Bool) {
    do {
      let result = try cell.profile.map { try simulated(cell, $0) } ?? measured(cell)
      return (("result", result), false)
    } catch {
      return (("error", .string("\(cell.placement.file.located(error))")), true)
    }
  }

  private func simulated(_ cell: SweepCell, _ profile: Int) throws -> JSONValue {
    let simulation = try simulator(cell, profile)
      .simulate(sweep.models[cell.model].shapes[cell.request], cell.placement.placement)
    return SimulationJSON.value(simulation)
  }

  private func simulator(_ cell: SweepCell, _ profile: Int) throws -> DeviceSimulator {
    let model = sweep.models[cell.model]
    let named = cell.placement
    let key = SimulatorKey(
      model: cell.model,
      chunks: try sweep.layout(model, cell.chunks, named.file).ranges.map(\.upperBound),
      prefill: cell.prefill,
      context: cell.context,
      profile: profile,
      options: named.file.options
    )
    if let known = simulators[key] { return known }
    let simulator = try DeviceSimulator(
      model.planned,
      sweep.load(
        named,
        model,
        prefill: cell.prefill,
        context: cell.context,
        chunks: cell.chunks
      ),
      on: sweep.experiment.profiles[profile].profile,
      sharedLayers: named.file.sharedLayers,
      batches: named.file.batches
    )
    simulators[key] = simulator
    recent.append(key)
    if recent.count > Self.kept { simulators[recent.removeFirst()] = nil }
    return simulator
  }

  private func measured(_ cell: SweepCell) throws -> JSONValue {
    let model = sweep.models[cell.model]
    guard let folder = model.folder,
      let request = try sweep.experiment.requests[cell.request].request()
    else { throw ExperimentError("expected a model's folder and a prompt, came neither") }
    let load = try sweep.load(
      cell.placement,
      model,
      prefill: cell.prefill,
      context: cell.context,
      chunks: cell.chunks
    )
    let runs = sweep.experiment.runs
    let measurement = try PlacementMeasurement(folder, [load], request, repeats: runs) { _ in }
    guard let entry = measurement.entries.first else {
      throw ExperimentError("expected a measurement, came none")
    }
    let machine = HostMachine.current()
    return MeasurementJSON.value(
      firstToken: entry.firstToken,
      step: entry.step,
      byteCount: entry.plannedByteCount,
      tokens: entry.tokens,
      machine: "\(machine.processor), \(machine.processors) processors"
    )
  }
}

/// What measured runs come to, with the names that simulated results have.
enum MeasurementJSON {
  static func value(
    firstToken: [Double],
    step: [Double],
    byteCount: Int,
    tokens: [Int],
    machine: String
  ) -> JSONValue {
    let first = PlacementMeasurement.Entry.estimate(firstToken)
    let time = PlacementMeasurement.Entry.estimate(step)
    let rate =
      time.value > 0
      ? Estimate(1e9 / time.value, low: 1e9 / time.high, high: 1e9 / max(time.low, 1)) : .zero
    return .object(fields: [
      ("timeToFirstToken", SimulationJSON.estimate(first * 1e-9)),
      ("decodeTokensPerSecond", SimulationJSON.estimate(rate)),
      ("decodeStep", SimulationJSON.estimate(time)), ("peakBytes", .integer(byteCount)),
      ("firstTokenSamplesNs", .array(firstToken.map { .number($0) })),
      ("stepSamplesNs", .array(step.map { .number($0) })),
      ("tokens", .array(tokens.map { .integer($0) })), ("machine", .string(machine)),
    ])
  }
}
