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
      ("timeline", timeline(response.timeline)),
      ("warnings", .array(response.warnings.map { .string($0) })),
    ]
  }

  private static func memory(_ response: Response) -> JSONValue {
    .object(fields: [
      ("plannedBytes", .integer(response.plannedByteCount)),
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
        ])
      }
    )
  }
}
