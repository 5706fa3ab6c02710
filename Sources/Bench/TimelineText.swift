import Devices
import Graph
import Models
import Troika

/// What ran where, as a table for people.
enum TimelineText {
  static func summary(_ response: Response) -> String {
    var rows: [(program: String, unit: String, count: Int, total: Int)] = []
    for event in response.timeline.events {
      let duration = event.endNanoseconds - event.startNanoseconds
      let program = event.kind == .compile ? "compiling" : event.program
      if let index = rows.firstIndex(where: {
        $0.program == program && $0.unit == event.unit.name
      }) {
        rows[index].count += 1
        rows[index].total += duration
      } else {
        rows.append((program, event.unit.name, 1, duration))
      }
    }
    let timings = response.timings
    var lines = ["program                unit          launches    total ms   each ms"]
    for row in rows {
      lines.append(
        pad(row.program, 23) + pad(row.unit, 14) + left("\(row.count)", 8)
          + left(milliseconds(row.total), 12) + left(milliseconds(row.total / row.count), 10)
      )
    }
    let rate =
      response.tokens.count > 1 && timings.decodeNanoseconds > 0
      ? Double(response.tokens.count - 1) * 1e9 / Double(timings.decodeNanoseconds) : 0
    lines.append(
      "load \(milliseconds(timings.loadNanoseconds)) ms, "
        + "media \(milliseconds(timings.decodeMediaNanoseconds)) ms, "
        + "encode \(milliseconds(timings.encodeNanoseconds)) ms, "
        + "prefill \(milliseconds(timings.prefillNanoseconds)) ms"
    )
    lines.append(
      "\(response.promptTokens) prompt tokens (\(response.softTokens) soft), first token after "
        + "\(milliseconds(timings.firstTokenNanoseconds)) ms, then "
        + "\(Format.fixed(rate, 1)) tokens/s"
    )
    lines.append(
      "memory: \(response.plannedByteCount >> 20) MiB planned, "
        + "\(HostMachine.peakResidentByteCount >> 20) MiB resident at most"
    )
    let items = response.memory.items.filter { $0.byteCount >= 1 << 20 }
    lines.append(
      "planned: " + items.map { "\($0.name) \($0.byteCount >> 20)" }.joined(separator: ", ")
    )
    return lines.joined(separator: "\n")
  }

  /// Where the parts ran, and why there where `auto` chose it.
  static func placement(_ placement: Placement, _ automatic: AutoPlacement?) -> String {
    "placement: \(placement)" + (automatic.map { " (auto: \($0.reason))" } ?? "")
  }

  /// Operations that ran elsewhere than placed, counted by rule.
  static func fallbacks(_ all: [Fallback]) -> [String] {
    let groups = Dictionary(grouping: all) { [$0.wanted.name, $0.reason] }
    return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, entries in
      let plural = entries.count == 1 ? "" : "s"
      return "\(entries.count) operation\(plural) placed on \(key[0]) ran on the cpu:\n  \(key[1])"
    }
  }

  static func milliseconds(_ nanoseconds: Int) -> String {
    Format.fixed(Double(nanoseconds) / 1e6, 2)
  }

  static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  static func left(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
