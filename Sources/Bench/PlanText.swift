import Graph
import Models
import Troika

/// A plan as lines for people, at most 80 columns.
enum PlanText {
  static func lines(_ report: PlanReport) -> [String] {
    heading(report) + [""] + programs(report) + [""] + fallbacks(report) + shares(report)
      + [""] + memory(report)
  }

  private static func heading(_ report: PlanReport) -> [String] {
    func list(_ numbers: [Int]) -> String { numbers.map(String.init).joined(separator: ",") }
    let sharing =
      report.sharedLayers == .last
      ? "last (layers without own caches run for the last position)"
      : "all (layers without own caches run for the whole batch)"
    let engine = "\(report.engine)"
    return wrapped("placement     ", "\(report.placement)", separator: ",") + [
      "chunks        \(list(report.chunks)), context \(report.context), "
        + "token counts \(list(report.tokens))",
      "sharedLayers  \(sharing)",
    ] + (engine.isEmpty ? [] : ["engine        \(engine)"])
  }

  // MARK: - Programs

  private static func programs(_ report: PlanReport) -> [String] {
    let columns = [("seg", 4), ("ops", 6), ("there", 6), ("host", 5), ("weights", 9), ("arena", 8)]
    let title =
      TimelineText.pad("program", 18) + TimelineText.pad("unit", 13)
      + columns.map { TimelineText.left($0.0, $0.1) }.joined() + TimelineText.left("to/from", 11)
    return [title] + report.programs.map(row)
      + ["MiB; to and from the unit; host: masks and cache writes, in no share"]
  }

  private static func row(_ program: PlanReport.Program) -> String {
    let there = program.operations[program.unit] ?? 0
    let crossing =
      program.crossings.isEmpty
      ? "-" : "\(mebi(program.incomingByteCount))/\(mebi(program.outgoingByteCount))"
    return TimelineText.pad(program.name, 18) + TimelineText.pad(program.unit.name, 13)
      + TimelineText.left("\(program.segments.count)", 4)
      + TimelineText.left("\(program.operationCount)", 6) + TimelineText.left("\(there)", 6)
      + TimelineText.left("\(program.hostOperations)", 5)
      + TimelineText.left(mebi(program.weightByteCount), 9)
      + TimelineText.left(mebi(program.arenaByteCount), 8)
      + TimelineText.left(crossing, 11)
  }

  // MARK: - Fallbacks

  private static func fallbacks(_ report: PlanReport) -> [String] {
    guard !report.fallbacks.isEmpty else { return ["no fallbacks", ""] }
    return report.fallbacks.flatMap { group -> [String] in
      let plural = group.count == 1 ? "operation runs" : "operations run"
      var names = group.operations.prefix(4).joined(separator: ", ")
      if group.operations.count > 4 { names += ", … (\(group.operations.count) names)" }
      return ["\(group.count) \(plural) on the cpu, placed on \(group.unit):"]
        + wrapped("  rule: ", group.reason) + wrapped("  in:   ", programs(group))
        + wrapped("  as:   ", names)
    } + [""]
  }

  private static func programs(_ group: PlanReport.FallbackGroup) -> String {
    let some = group.programs.prefix(6).joined(separator: ", ")
    return group.programs.count > 6 ? some + ", … (\(group.programs.count))" : some
  }

  // MARK: - Shares and memory

  private static func shares(_ report: PlanReport) -> [String] {
    report.shares.map { share in
      let placed =
        share.placed == 0
        ? "nothing is placed there"
        : "\(share.kept) of \(share.placed) placed there (\(self.share(share.fraction)))"
      return TimelineText.pad(share.unit.name, 14) + "runs \(share.run) operations, \(placed)"
    }
  }

  private static func memory(_ report: PlanReport) -> [String] {
    let memory = report.memory
    var parts = ["weights \(mebi(memory.weightByteCount))"]
    if memory.convertedByteCount > 0 {
      parts.append("converted constants \(mebi(memory.convertedByteCount))")
    }
    parts += [
      "caches \(mebi(memory.cacheByteCount))", "arena \(mebi(memory.arenaByteCount))",
      "values \(mebi(memory.bindingByteCount))",
      "table rows \(mebi(memory.tableByteCount))",
    ]
    let peak = "at most \(mebi(memory.peakByteCount)) MiB if every program runs: "
    let hasDriver = report.programs.contains { $0.unit == .gpu }
    let driver = hasDriver ? "; the GPU's driver takes more for itself, which is not planned" : ""
    return wrapped("memory        ", peak + parts.joined(separator: ", ") + driver)
  }

  /// A share with as many digits as gates need.
  static func share(_ fraction: Double) -> String { Format.fixed(fraction, 4) }

  private static func mebi(_ bytes: Int) -> String {
    let value = Double(bytes) / Double(1 << 20)
    return Format.fixed(value, value < 10 ? 2 : value < 1000 ? 1 : 0)
  }

  /// Text behind a label, broken before 80 columns, continued below its beginning.
  static func wrapped(_ label: String, _ text: String, separator: Character = " ") -> [String] {
    var lines: [String] = []
    var line = label
    var isFresh = true
    for word in text.split(separator: separator) {
      let joint = separator == " " ? " " : String(separator)
      if !isFresh, line.count + joint.count + word.count > 79 {
        lines.append(separator == " " ? line : line + joint)
        line = String(repeating: " ", count: label.count)
        isFresh = true
      }
      line += isFresh ? word : joint + word
      isFresh = false
    }
    return lines + [line]
  }
}
