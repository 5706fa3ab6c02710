import Graph
import Troika

/// Where the figures are from, and what did not run where it was placed.
enum AuditSection {
  static func markup(_ data: ReportData) -> Markup {
    .section(
      "audit",
      "Audit",
      [
        .table(
          "Files",
          ["File", "Kind", "What"],
          words: 3,
          data.sources.map { [$0.file, $0.kind, $0.about] }
        ),
        optional(
          "Machines",
          ["File", "Machine"],
          data.machines.map { [$0.file, $0.machine] }
        ),
        optional("Units", ["File", "Unit", "GFLOP/s", "GB/s"], limits(data)),
        optional("Operations by unit", ["File", "Unit", "Placed", "Run there", "%"], shares(data)),
        .table(
          "Refusals, fallbacks and failures",
          ["File", "What", "Unit", "Why", "Count"],
          words: 4,
          data.exceptions.isEmpty
            ? [["", "none", "", "", ""]]
            : data.exceptions.map { [$0.file, $0.what, $0.unit, $0.reason, "\($0.count)"] }
        ),
      ]
    )
  }

  /// A table where there are rows.
  private static func optional(
    _ caption: String,
    _ columns: [String],
    _ rows: [[String]]
  ) -> Markup {
    rows.isEmpty ? .none : .table(caption, columns, words: 2, rows)
  }

  private static func limits(_ data: ReportData) -> [[String]] {
    data.benches.flatMap { file, report in
      report.limits.map { limit in
        [
          file, limit.unit.name, Format.digits(limit.flopsPerSecond / 1e9),
          Format.digits(limit.bytesPerSecond / 1e9),
        ]
      }
    }
  }

  private static func shares(_ data: ReportData) -> [[String]] {
    data.shares.map { share in
      [
        share.file, share.unit, "\(share.placed)", "\(share.operations)",
        Format.fixed(Double(share.operations) / Double(max(share.placed, 1)) * 100, 1),
      ]
    }
  }
}
