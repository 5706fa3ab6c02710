import Graph
import Models
import Troika

/// A report for people: a table of at most 80 columns, or Markdown.
enum BenchCommandText {
  static func lines(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> [String] {
    heading(report) + [""] + steady(report) + [""] + making(report) + refusals(report)
      + [""] + time(report) + comparison(report, changes, threshold)
  }

  /// What figures depend on, in one line.
  static func machine(_ machine: MachineFacts) -> String {
    "\(machine.processor), \(machine.processors) processors, \(machine.threads) threads, "
      + "\(machine.memoryByteCount >> 20) MiB, governor \(machine.governor), "
      + "kernels \(machine.kernels), Vulkan \(machine.vulkan ?? "none"), "
      + "troika \(machine.troika), \(machine.compiler)"
  }

  private static func heading(_ report: BenchReport) -> [String] {
    PlanText.wrapped("machine  ", machine(report.machine))
      + PlanText.wrapped("model    ", "\(report.model), \(report.shapes), suite \(report.suite)")
      + report.limits.map { limit in
        "limit    " + TimelineText.pad(limit.unit.name, 13)
          + "\(Format.significant(limit.flopsPerSecond / 1e9)) GFLOP/s, "
          + "\(Format.significant(limit.bytesPerSecond / 1e9)) GB/s"
      }
  }

  // MARK: - Tables

  /// A line: the stage, its unit, and cells from the right.
  private static func row(
    _ stage: String,
    _ unit: String,
    _ cells: [String],
    _ widths: [Int]
  ) -> String {
    let numbers = zip(cells, widths).map { TimelineText.left($0, $1) }.joined()
    let room = 80 - 13 - widths.reduce(0, +)
    return TimelineText.pad(stage, room) + TimelineText.pad(unit, 13) + numbers
  }

  private static func steady(_ report: BenchReport) -> [String] {
    let widths = [8, 8, 8, 8, 7, 3]
    let titles = ["median", "p10", "p90", "p99", "sd", "n"]
    return [row("steady state, ms", "unit", titles, widths)]
      + report.rows.map { entry in
        let summary = entry.samples.summary
        let values = [summary.median, summary.p10, summary.p90, summary.p99, summary.deviation]
        let cells = values.map(milliseconds) + ["\(summary.count)"]
        return row(entry.stage, entry.unit.name, cells, widths)
      }
  }

  private static func making(_ report: BenchReport) -> [String] {
    let widths = [8, 8, 8, 8, 5, 5, 4]
    let rows = report.rows.filter { $0.unit != BenchReport.host }
    guard !rows.isEmpty else { return [] }
    let titles = ["build", "compile", "first", "MiB", "comp", "read", "off"]
    return [row("program, ms", "unit", titles, widths)]
      + rows.map { entry in
        let made = [entry.buildNanoseconds, entry.compileNanoseconds, entry.firstNanoseconds]
        let reached = report.reached(entry)
        let cells =
          made.map { $0.map { milliseconds(Double($0)) } ?? "-" }
          + [Format.fixed(Double(entry.work.weightByteCount) / Double(1 << 20), 1)]
          + [reached.ofCompute, reached.ofRead].map(percent) + ["\(entry.elsewhere)"]
        return row(entry.stage, entry.unit.name, cells, widths)
      }
      + [
        "MiB of weights; comp and read: % of the unit's limits; off: operations on other units"
      ].flatMap { PlanText.wrapped("", $0) }
  }

  private static func refusals(_ report: BenchReport) -> [String] {
    report.refusals.isEmpty
      ? []
      : [""]
        + report.refusals.flatMap { refusal in
          PlanText.wrapped("not run  ", "\(refusal.stage) on \(refusal.unit): \(refusal.reason)")
        }
  }

  private static func time(_ report: BenchReport) -> [String] {
    func seconds(_ nanoseconds: Int) -> String { Format.fixed(Double(nanoseconds) / 1e9, 2) }
    let parts = report.shares.filter { $0.nanoseconds > 0 }.map {
      "\($0.name) \(seconds($0.nanoseconds))"
    }
    let residual =
      "unexplained \(seconds(report.residualNanoseconds)) "
      + "(\(Format.fixed(report.residual * 100, 2)) %)"
    let samples = report.rows.reduce(0) { $0 + $1.samples.nanoseconds.count }
    let disturbed = report.rows.reduce(0) { $0 + $1.samples.disturbed.count }
    let note = "\(disturbed) of \(samples) samples, by other work on the machine"
    return [disturbed == 0 ? "" : "disturbed " + note].filter { !$0.isEmpty }
      + PlanText.wrapped(
        "time     ",
        "\(seconds(report.wallNanoseconds)) s: " + (parts + [residual]).joined(separator: ", ")
      )
  }

  // MARK: - Comparison

  private static func comparison(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> [String] {
    guard !changes.isEmpty else { return [] }
    let widths = [8, 7, 13, 10]
    let titles = ["now", "ratio", "95 %", "verdict"]
    return ["", row("since the baseline, ms", "unit", titles, widths)]
      + changes.map { change in
        let median = report.median(change).map(milliseconds) ?? "-"
        let cells = [median] + ratios(change) + [word(change, threshold)]
        return row(change.stage, change.unit.name, cells, widths)
      }
  }

  private static func ratios(_ change: StageChange) -> [String] {
    guard let comparison = change.comparison, comparison.high < .infinity else {
      return ["-", "-"]
    }
    return [
      Format.fixed(comparison.ratio, 3),
      "\(Format.fixed(comparison.low, 3))-\(Format.fixed(comparison.high, 3))",
    ]
  }

  /// What a change is called.
  static func word(_ change: StageChange, _ threshold: Double) -> String {
    switch change.comparison?.verdict(threshold: threshold) {
    case .same: "same"
    case .faster: "faster"
    case .slightlySlower: "tolerated"
    case .slower: "SLOWER"
    case .unknown: "unknown"
    case nil: change.isNew ? "new" : "gone"
    }
  }

  // MARK: - Markdown

  static func markdown(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> [String] {
    func table(_ titles: [String], _ rows: [[String]]) -> [String] {
      (rows.isEmpty ? [] : [titles, titles.map { _ in "---" }] + rows).map {
        "| " + $0.joined(separator: " | ") + " |"
      }
    }
    let limits = report.limits.map {
      [
        $0.unit.name, Format.fixed($0.flopsPerSecond / 1e9, 1),
        Format.fixed($0.bytesPerSecond / 1e9, 1),
      ]
    }
    let rows = report.rows.map { entry -> [String] in
      let summary = entry.samples.summary
      let reached = report.reached(entry)
      let made = [entry.buildNanoseconds, entry.compileNanoseconds, entry.firstNanoseconds]
      return [entry.stage, entry.unit.name]
        + [summary.median, summary.p10, summary.p90, summary.p99, summary.deviation]
        .map(milliseconds) + ["\(summary.count)"]
        + made.map { $0.map { milliseconds(Double($0)) } ?? "" }
        + [reached.ofCompute, reached.ofRead].map(percent)
    }
    let compared = changes.map { [$0.stage, $0.unit.name] + ratios($0) + [word($0, threshold)] }
    return [
      machine(report.machine), "", "\(report.model), \(report.shapes), suite \(report.suite)", "",
    ] + table(["limit of", "GFLOP/s", "GB/s"], limits) + [""]
      + table(
        [
          "stage", "unit", "median ms", "p10", "p90", "p99", "sd", "n", "build", "compile",
          "first", "compute %", "read %",
        ],
        rows
      ) + [""] + report.refusals.map { "- \($0.stage) on \($0.unit): \($0.reason)" }
      + time(report).map { $0 } + (compared.isEmpty ? [] : [""])
      + table(["stage", "unit", "ratio", "95 %", "verdict"], compared)
  }

  // MARK: - Numbers

  /// Milliseconds with four digits or so.
  static func milliseconds(_ nanoseconds: Double) -> String {
    let value = nanoseconds / 1e6
    return Format.fixed(value, value < 1 ? 4 : value < 100 ? 2 : value < 10_000 ? 1 : 0)
  }

  private static func percent(_ share: Double?) -> String {
    share.map { Format.fixed($0 * 100, 0) } ?? "-"
  }
}

extension BenchReport {
  /// The median of a stage, nil where it is gone.
  fileprivate func median(_ change: StageChange) -> Double? {
    rows.first { $0.stage == change.stage && $0.unit == change.unit }?.samples.summary.median
  }
}
