import Graph
import Models
import Troika

/// Predictions beside published numbers.
enum FidelityText {
  static func lines(_ fidelity: Fidelity) -> [String] {
    var lines: [String] = []
    var device = ""
    for line in fidelity.lines {
      if line.device != device {
        device = line.device
        lines += [
          lines.isEmpty ? "" : "", device,
          "  " + TimelineText.pad("what", 34) + "predicted  published   error left out use",
        ]
      }
      lines.append(row(line))
    }
    let held = fidelity.lines.filter { $0.use == .fit }
    let seen = held.compactMap(\.errorLeftOut)
    lines += [
      "",
      "\(held.count { $0.holds }) of \(held.count) fitted numbers within 5 %; without seeing them "
        + "\(seen.count { abs($0) <= 0.15 }) of \(seen.count) within 15 %",
    ]
    if !fidelity.skipped.isEmpty {
      lines += ["", "rows without a prediction (other systems, or words):"]
      lines += fidelity.skipped.flatMap {
        PlanText.wrapped("  ", "\($0.device), \($0.unit): \($0.what) (\($0.use.rawValue))")
      }
    }
    return Array(lines.drop { $0.isEmpty })
  }

  private static func row(_ line: Fidelity.Line) -> String {
    let low = Format.significant(line.published.lowerBound)
    let high = Format.significant(line.published.upperBound)
    let leftOut = line.errorLeftOut.map(percent) ?? "-"
    return "  " + TimelineText.pad(line.label, 34)
      + TimelineText.left(Format.significant(line.prediction), 9)
      + TimelineText.left(low == high ? low : "\(low)-\(high)", 11)
      + TimelineText.left(percent(line.error), 8) + TimelineText.left(leftOut, 8) + " "
      + line.use.rawValue
  }

  private static func percent(_ value: Double) -> String { Format.fixed(value * 100, 1) + "%" }

  static func json(_ fidelity: Fidelity) -> JSONValue {
    .array(
      fidelity.lines.map { line in
        .object(fields: [
          ("device", .string(line.device)), ("what", .string(line.label)),
          ("use", .string(line.use.rawValue)), ("predicted", .number(line.prediction)),
          ("publishedLow", .number(line.published.lowerBound)),
          ("publishedHigh", .number(line.published.upperBound)), ("error", .number(line.error)),
          ("errorLeftOut", line.errorLeftOut.map { .number($0) } ?? .null),
          ("source", .string(line.source)),
        ])
      }
    )
  }
}
