import Graph
import Models
import Troika

/// A report for other programs.
enum BenchCommandData {
  /// The whole document; what changed since a baseline under `changes`.
  static func json(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> JSONValue {
    guard !changes.isEmpty, var object = report.json.object else { return report.json }
    object["changes"] = .array(changes.map { .object(fields: fields($0, threshold)) })
    return .object(object)
  }

  /// A line for the run, one for each stage and one for each change.
  static func jsonl(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> [String] {
    func line(_ kind: String, _ value: JSONValue) -> String {
      let members = value.object?.members.map { ($0.key, $0.value) } ?? []
      return JSONValue.object(fields: [("kind", .string(kind))] + members).text(.compact)
    }
    return [line("run", .object(fields: report.heading))]
      + report.rows.map { line("stage", $0.json) }
      + changes.map { line("change", .object(fields: fields($0, threshold))) }
  }

  private static func fields(
    _ change: StageChange,
    _ threshold: Double
  ) -> [(String, JSONValue)] {
    let verdict = change.comparison?.verdict(threshold: threshold).rawValue
    var fields: [(String, JSONValue)] = [
      ("stage", .string(change.stage)), ("unit", .string(change.unit.name)),
      ("verdict", .string(verdict ?? (change.isNew ? "new" : "gone"))),
    ]
    if let comparison = change.comparison {
      fields += [
        ("ratio", .number(comparison.ratio)), ("low", .number(comparison.low)),
        ("high", .number(comparison.high)),
      ]
    }
    return fields
  }

  private static let columns = [
    "stage", "unit", "samples", "disturbed", "median_ns", "p10_ns", "p90_ns", "p99_ns",
    "deviation_ns",
    "build_ns", "compile_ns", "first_ns", "busy_ns", "flops", "weight_bytes", "activation_bytes",
    "compute_share", "read_share", "operations", "elsewhere", "ratio", "ratio_low", "ratio_high",
    "verdict",
  ]

  /// A comment with the machine, then a line for each stage.
  static func csv(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double
  ) -> [String] {
    let machine = "# " + BenchCommandText.machine(report.machine)
    return [machine, columns.joined(separator: ",")]
      + report.rows.map { row in
        let change = changes.first { $0.stage == row.stage && $0.unit == row.unit }
        return (cells(row, report) + cells(change, threshold)).map(quoted).joined(separator: ",")
      }
  }

  private static func cells(_ row: BenchReport.Row, _ report: BenchReport) -> [String] {
    let summary = row.samples.summary
    let reached = report.reached(row)
    func text(_ value: Int?) -> String { value.map(String.init) ?? "" }
    func share(_ value: Double?) -> String { value.map { Format.fixed($0, 4) } ?? "" }
    let steady = [summary.median, summary.p10, summary.p90, summary.p99, summary.deviation]
    return [row.stage, row.unit.name, "\(summary.count)", "\(row.samples.disturbed.count)"]
      + steady.map { Format.fixed($0, 0) }
      + [row.buildNanoseconds, row.compileNanoseconds, row.firstNanoseconds].map(text)
      + [
        row.busyNanoseconds, row.work.flops, row.work.weightByteCount,
        row.work.activationByteCount,
      ].map(text) + [share(reached.ofCompute), share(reached.ofRead)]
      + [text(row.operations), text(row.elsewhere)]
  }

  private static func cells(_ change: StageChange?, _ threshold: Double) -> [String] {
    guard let change else { return ["", "", "", ""] }
    let word = BenchCommandText.word(change, threshold)
    guard let comparison = change.comparison else { return ["", "", "", word] }
    return [comparison.ratio, comparison.low, comparison.high].map { Format.fixed($0, 4) } + [word]
  }

  private static func quoted(_ cell: String) -> String {
    guard cell.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return cell }
    return "\"" + cell.replacing("\"", with: "\"\"") + "\""
  }
}
