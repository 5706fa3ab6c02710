import Graph
import Models
import Troika

/// The JSON document of a simulated request.
enum SimulationJSON {
  static func value(_ simulation: Simulation) -> JSONValue { .object(fields: fields(simulation)) }

  static func fields(_ simulation: Simulation) -> [(String, JSONValue)] {
    [
      ("profile", .string(simulation.device)),
      ("placement", .string("\(simulation.placement)")),
      ("sharedLayers", .string(simulation.sharedLayers.rawValue)),
      ("promptTokens", .integer(simulation.promptTokens)),
      ("generatedTokens", .integer(simulation.generatedTokens)),
      ("batches", .array(simulation.batches.map { .array($0.map { .integer($0) }) })),
      ("cutsAtMedia", .bool(simulation.cutsAtMedia)),
      ("timeToFirstToken", estimate(simulation.firstToken * 1e-9)),
      ("decodeTokensPerSecond", estimate(simulation.tokensPerSecond)),
      ("decodeStep", estimate(simulation.step)),
      (
        "launches",
        .array(
          simulation.launches.map { launch in
            .object(fields: [
              ("program", .string(launch.program)), ("unit", .string(launch.unit.name)),
              ("count", .integer(launch.count)),
              ("nanoseconds", .integer(Int(clamping: launch.nanoseconds.value.rounded()))),
              ("low", .integer(Int(clamping: launch.nanoseconds.low.rounded()))),
              ("high", .integer(Int(clamping: launch.nanoseconds.high.rounded()))),
            ])
          }
        )
      ),
      ("energyJoules", simulation.joules.map(estimate) ?? .null),
      ("peakBytes", .integer(simulation.peakByteCount)),
      ("warnings", .array(simulation.warnings.map { .string($0) })),
      (
        "assumed",
        .array(
          simulation.assumptions.map { assumption in
            .object(fields: [
              ("unit", .string(assumption.unit.name)),
              ("figures", .array(assumption.figures.map { .string($0) })),
              ("share", .number(assumption.share)), ("watts", .bool(assumption.assumesWatts)),
            ])
          }
        )
      ),
      ("coldNs", .integer(simulation.coldNanoseconds)),
      ("serialNs", .integer(simulation.serialNanoseconds)),
      (
        "bound",
        .object(fields: [
          ("nanoseconds", .integer(simulation.bound.nanoseconds)),
          ("criticalPathNs", .integer(simulation.bound.criticalPathNanoseconds)),
          ("busiestUnit", .string(simulation.bound.busiestUnit?.name ?? "")),
          ("busiestNs", .integer(simulation.bound.busiestNanoseconds)),
        ])
      ),
    ]
  }

  static func estimate(_ estimate: Estimate) -> JSONValue {
    .object(fields: [
      ("value", .number(estimate.value)), ("low", .number(estimate.low)),
      ("high", .number(estimate.high)),
    ])
  }
}
