import Devices
import Graph
import Models
import Troika

/// The JSON document of an answer.
enum ResponseJSON {
  static func fields(_ response: Response) -> [(String, JSONValue)] {
    [
      ("text", .string(response.text)),
      ("tokens", .array(response.tokens.map { .integer($0) })),
      ("promptTokens", .integer(response.promptTokens)),
      ("cachedTokens", .integer(response.cachedTokens)),
      ("softTokens", .integer(response.softTokens)),
      ("finishReason", .string(response.finishReason.rawValue)),
      ("memory", memory(response)),
      ("timings", timings(response.timings)),
      ("overlap", overlap(response.overlap)),
      ("timeline", timeline(response.timeline)),
      ("warnings", .array(response.warnings.map { .string($0) })),
    ]
  }

  /// Where the parts ran, and why there where `auto` chose it.
  static func placement(
    _ placement: Placement,
    _ automatic: AutoPlacement?
  ) -> [(String, JSONValue)] {
    [
      ("placement", .string("\(placement)")),
      ("placementReason", automatic.map { .string($0.reason) } ?? .null),
    ]
  }

  private static func memory(_ response: Response) -> JSONValue {
    .object(fields: [
      ("plannedBytes", .integer(response.plannedByteCount)),
      (
        "planned",
        .object(fields: response.memory.items.map { ($0.name, .integer($0.byteCount)) })
      ),
      ("peakResidentBytes", .integer(HostMachine.peakResidentByteCount)),
    ])
  }

  private static func timings(_ timings: Response.Timings) -> JSONValue {
    .object(fields: [
      ("loadNs", .integer(timings.loadNanoseconds)),
      ("decodeMediaNs", .integer(timings.decodeMediaNanoseconds)),
      ("encodeNs", .integer(timings.encodeNanoseconds)),
      ("prefillNs", .integer(timings.prefillNanoseconds)),
      ("firstTokenNs", .integer(timings.firstTokenNanoseconds)),
      ("decodeNs", .integer(timings.decodeNanoseconds)),
      ("totalNs", .integer(timings.totalNanoseconds)),
    ])
  }

  private static func timeline(_ timeline: Timeline) -> JSONValue {
    let origin = timeline.events.first?.startNanoseconds ?? 0
    return .array(
      timeline.events.map { event in
        .object(fields: [
          ("unit", .string(event.unit.name)), ("program", .string(event.program)),
          ("startNs", .integer(event.startNanoseconds - origin)),
          ("endNs", .integer(event.endNanoseconds - origin)),
          ("kind", .string(event.kind.rawValue)),
          ("task", event.task.map { .integer($0) } ?? .null),
          ("after", .array(event.after.map { .integer($0) })),
        ])
      }
    )
  }

  /// What ran at the same time before the first token.
  private static func overlap(_ overlap: Overlap) -> JSONValue {
    .object(fields: [
      ("serialNs", .integer(overlap.serialNanoseconds)),
      ("makespanNs", .integer(overlap.makespanNanoseconds)),
      ("gain", .number(overlap.gain)),
      ("boundNs", .integer(overlap.bound.nanoseconds)),
      ("criticalPathNs", .integer(overlap.bound.criticalPathNanoseconds)),
      ("busiestUnit", overlap.bound.busiestUnit.map { .string($0.name) } ?? .null),
      ("busiestNs", .integer(overlap.bound.busiestNanoseconds)),
      ("units", .array(overlap.units.map(unit))),
    ])
  }

  private static func unit(_ unit: Overlap.Unit) -> JSONValue {
    .object(fields: [
      ("unit", .string(unit.unit.name)), ("busyNs", .integer(unit.busyNanoseconds)),
      (
        "idle",
        .array(
          unit.idle.map { idle in
            .object(fields: [
              ("cause", .string("\(idle.cause)")), ("ns", .integer(idle.nanoseconds)),
            ])
          }
        )
      ),
    ])
  }
}
