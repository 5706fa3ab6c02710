import Graph
import Troika

/// What stages reach of what their units could do for work of their kind.
enum RooflineSection {
  /// A stage with work that a limit bounds.
  private struct Point {
    let stage: String
    let unit: String
    let intensity: Double
    let rate: Double
    let limit: UnitLimit

    /// What the unit allows at this intensity.
    var bound: Double { min(limit.flopsPerSecond, intensity * limit.bytesPerSecond) }
    var isComputing: Bool { limit.flopsPerSecond <= intensity * limit.bytesPerSecond }
  }

  static func markup(_ benches: [(file: String, report: BenchReport)]) -> Markup {
    let figures = benches.flatMap { figure($0.file, $0.report) }
    guard !figures.isEmpty else { return .none }
    return .section(
      "roofline",
      "Roofline",
      [
        .note(
          "Each stage by its operations for a byte of weights and values, and by the operations a second "
            + "it reaches. The lines are what its unit reached in the same run with one large product; a "
            + "stage above them has a kernel for another format or finds its values in a cache."
        )
      ] + figures
    )
  }

  private static func points(_ report: BenchReport) -> [Point] {
    report.rows.compactMap { row in
      let seconds = row.samples.summary.median / 1e9
      let bytes = row.work.weightByteCount + row.work.activationByteCount
      guard let limit = report.limits.first(where: { $0.unit == row.unit }), seconds > 0,
        row.work.flops > 0, bytes > 0
      else { return nil }
      return Point(
        stage: row.stage,
        unit: row.unit.name,
        intensity: Double(row.work.flops) / Double(bytes),
        rate: Double(row.work.flops) / seconds,
        limit: limit
      )
    }
  }

  private static func figure(_ file: String, _ report: BenchReport) -> [Markup] {
    let points = points(report)
    guard !points.isEmpty else { return [] }
    return [
      .element("h3", [], words: file), Chart.legend(report.limits.map(\.unit.name)),
      drawing(file, points, report.limits),
      .table(
        "Roofline of \(file)",
        ["Stage", "Unit", "Bound by", "Operations/byte", "GFLOP/s", "GFLOP/s at most", "%"],
        words: 3,
        points.map { point in
          [
            point.stage, point.unit, point.isComputing ? "computing" : "reading",
            Format.digits(point.intensity), Format.digits(point.rate / 1e9),
            Format.digits(point.bound / 1e9), Format.fixed(point.rate / point.bound * 100, 0),
          ]
        }
      ),
    ]
  }

  private static func drawing(
    _ file: String,
    _ points: [Point],
    _ limits: [UnitLimit]
  ) -> Markup {
    let ridges = limits.map { $0.flopsPerSecond / max($0.bytesPerSecond, 1) }
    let across = Scale(
      logarithmic: points.map(\.intensity) + ridges.flatMap { [$0 / 3, $0 * 4] },
      from: 90,
      to: Chart.width - 30
    )
    let up = Scale(
      logarithmic: points.map(\.rate) + limits.map(\.flopsPerSecond),
      from: 400,
      to: 16
    )
    let marks =
      across.marks.flatMap { mark -> [Markup] in
        let x = across.place(mark)
        return [
          Chart.line("grid", x, up.to, x, up.from),
          Chart.label(Format.round(mark), x, 418, "tick", anchor: "middle"),
        ]
      }
      + up.marks.flatMap { mark -> [Markup] in
        let y = up.place(mark)
        return [
          Chart.line("grid", across.from, y, across.to, y),
          Chart.label(Format.round(mark / 1e9), 82, y + 4, "tick", anchor: "end"),
        ]
      }
    let words = [
      Chart.label("operations for a byte", Chart.width - 30, 438, "lane", anchor: "end"),
      Chart.label("GFLOP/s", 90, 11, "lane"),
    ]
    return Chart.drawing(
      "Roofline of \(file)",
      height: 446,
      marks + limits.map { roof($0, across, up) }
        + points.map { dot($0, across, up) } + words
    )
  }

  private static func dot(_ point: Point, _ across: Scale, _ up: Scale) -> Markup {
    Chart.dot(
      Chart.colour(point.unit),
      across.place(point.intensity),
      up.place(point.rate),
      "\(point.stage) on \(point.unit): \(Format.digits(point.rate / 1e9)) of "
        + "\(Format.digits(point.bound / 1e9)) GFLOP/s at \(Format.digits(point.intensity)) "
        + "operations a byte",
      radius: 5
    )
  }

  /// The slope of reading and the ceiling of computing.
  private static func roof(_ limit: UnitLimit, _ across: Scale, _ up: Scale) -> Markup {
    let ridge = limit.flopsPerSecond / max(limit.bytesPerSecond, 1)
    let start = max(across.low, up.low / max(limit.bytesPerSecond, 1))
    let corners = [
      (start, start * limit.bytesPerSecond), (ridge, limit.flopsPerSecond),
      (across.high, limit.flopsPerSecond),
    ]
    let path = corners.enumerated().map { index, corner in
      (index == 0 ? "M" : "L") + Chart.number(across.place(corner.0)) + " "
        + Chart.number(up.place(corner.1))
    }
    return .element(
      "path",
      [("class", "roofline " + Chart.colour(limit.unit.name)), ("d", path.joined(separator: " "))]
    )
  }
}
