import Graph
import Models
import Troika

/// What became of fp16 numbers, operation by operation.
enum HealthText {
  /// Rows that are shown of operations without trouble.
  private static let shown = 20

  /// Every operation with trouble, then those with the largest numbers.
  static func table(_ units: [UnitHealth]) -> [String] {
    guard !units.isEmpty else { return ["", "health: no unit that stores fp16 ran anything"] }
    return units.flatMap { unit -> [String] in
      let sick = unit.operations.filter { !$0.isHealthy }
      let well = unit.operations.filter { $0.isHealthy && !$0.hidesKeys }
        .sorted { $0.largest > $1.largest }
      let rest = well.count - min(shown, well.count)
      var lines = [""] + PlanText.wrapped("health  ", unit.summary)
      let columns = [("overflows", 9), ("NaN", 8), ("flushed", 9), ("largest", 9)]
      lines.append(
        TimelineText.pad("operation", 45)
          + columns.map { TimelineText.left($0.0, $0.1) }.joined()
      )
      lines += (sick + well.prefix(shown)).map(row)
      if rest > 0 { lines.append("and \(rest) operations with smaller numbers") }
      return lines
    }
  }

  private static func row(_ operation: UnitHealth.Operation) -> String {
    let name = operation.name
    let short = name.count > 44 ? "…" + name.suffix(43) : name
    return TimelineText.pad(short, 45) + TimelineText.left("\(operation.overflows)", 9)
      + TimelineText.left("\(operation.nans)", 8) + TimelineText.left("\(operation.flushed)", 9)
      + TimelineText.left(Format.significant(Double(operation.largest)), 9)
  }

  /// Every operation.
  static func json(_ units: [UnitHealth]) -> JSONValue {
    .array(
      units.map { unit in
        .object(fields: [
          ("unit", .string(unit.unit.name)),
          ("firstOverflow", unit.firstUnhealthy.map { .string($0.name) } ?? .null),
          (
            "operations",
            .array(
              unit.operations.map {
                .object(fields: [
                  ("name", .string($0.name)), ("overflows", .integer($0.overflows)),
                  ("nans", .integer($0.nans)), ("flushed", .integer($0.flushed)),
                  ("largest", .number(Double($0.largest))),
                ])
              }
            )
          ),
        ])
      }
    )
  }
}
