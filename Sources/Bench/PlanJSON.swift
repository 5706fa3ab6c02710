import Graph
import Models
import Troika

/// The JSON document of a plan.
enum PlanJSON {
  static func fields(_ report: PlanReport) -> [(String, JSONValue)] {
    [
      ("placement", .string("\(report.placement)")),
      ("chunks", .array(report.chunks.map { .integer($0) })),
      ("context", .integer(report.context)),
      ("tokenCounts", .array(report.tokens.map { .integer($0) })),
      ("sharedLayers", .string(report.sharedLayers.rawValue)),
      ("engine", .object(fields: PlacementInspection.engine(report.engine))),
      ("programs", .array(report.programs.map(program))),
      ("fallbacks", .array(report.fallbacks.map(fallback))),
      ("units", .array(report.shares.map(share))), ("memory", memory(report.memory)),
      ("warnings", .array(report.warnings.map { .string($0) })),
    ]
  }

  private static func program(_ program: PlanReport.Program) -> JSONValue {
    .object(fields: [
      ("name", .string(program.name)), ("unit", .string(program.unit.name)),
      (
        "segments",
        .array(
          program.segments.map {
            .object(
              fields: [("unit", .string($0.unit.name)), ("nodes", .integer($0.nodes))]
                + work($0.work)
            )
          }
        )
      ),
      (
        "operations",
        .object(
          fields: program.operations.sorted { $0.key.name < $1.key.name }
            .map { ($0.key.name, .integer($0.value)) }
        )
      ),
      ("hostOperations", .integer(program.hostOperations)),
      ("weightBytes", .integer(program.weightByteCount)),
      ("convertedBytes", .integer(program.convertedByteCount)),
      ("arenaBytes", .integer(program.arenaByteCount)),
      (
        "crossings",
        .array(
          program.crossings.map {
            .object(fields: [
              ("from", .string($0.from.name)), ("to", .string($0.to.name)),
              ("bytes", .integer($0.byteCount)),
            ])
          }
        )
      ),
    ])
  }

  private static func work(_ work: ProgramWork) -> [(String, JSONValue)] {
    [
      ("operations", .integer(work.operations)), ("flops", .integer(work.flops)),
      ("weightBytes", .integer(work.weightByteCount)),
      ("valueBytes", .integer(work.valueByteCount)),
      ("attentionFlops", .integer(work.attention.reduce(0) { $0 + $1.flops + $1.cacheFlops })),
      ("cacheReadBytes", .integer(work.attention.reduce(0) { $0 + $1.count * $1.cacheByteCount })),
      ("stateBytes", .integer(work.updatedStates.reduce(0, +))),
    ]
  }

  private static func fallback(_ group: PlanReport.FallbackGroup) -> JSONValue {
    .object(fields: [
      ("unit", .string(group.unit.name)), ("reason", .string(group.reason)),
      ("count", .integer(group.count)),
      ("operations", .array(group.operations.map { .string($0) })),
      ("programs", .array(group.programs.map { .string($0) })),
    ])
  }

  private static func share(_ share: PlanReport.Share) -> JSONValue {
    .object(fields: [
      ("unit", .string(share.unit.name)), ("operations", .integer(share.run)),
      ("placed", .integer(share.placed)), ("kept", .integer(share.kept)),
      ("share", .number(share.fraction)),
    ])
  }

  private static func memory(_ memory: PlanReport.Memory) -> JSONValue {
    .object(fields: [
      ("weightBytes", .integer(memory.weightByteCount)),
      ("convertedBytes", .integer(memory.convertedByteCount)),
      ("cacheBytes", .integer(memory.cacheByteCount)),
      ("arenaBytes", .integer(memory.arenaByteCount)),
      ("valueBytes", .integer(memory.bindingByteCount)),
      ("tableBytes", .integer(memory.tableByteCount)),
      ("peakBytes", .integer(memory.peakByteCount)),
    ])
  }
}
