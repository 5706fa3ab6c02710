import Graph
import Troika

/// How long each stage takes on each unit, measured by bench or simulated.
enum StageSection {
  /// A stage on a unit.
  private struct Entry {
    let stage: String
    let unit: String
    let time: Estimate
    let detail: String
  }

  static func markup(_ data: ReportData) -> Markup {
    guard !data.benches.isEmpty || !data.launches.isEmpty else { return .none }
    return .section(
      "stages",
      "Stage latency",
      [
        .note(
          "A bar reaches from the 10th to the 90th percentile of the samples, or over the range of a "
            + "prediction; the dot is the median or the likeliest value. A step to the right is a factor."
        )
      ] + data.benches.flatMap { measured($0.file, $0.report) } + data.launches.flatMap(simulated)
    )
  }

  private static func measured(_ file: String, _ report: BenchReport) -> [Markup] {
    let entries = report.rows.map { row in
      let summary = row.samples.summary
      return Entry(
        stage: row.stage,
        unit: row.unit.name,
        time: Estimate(summary.median, low: summary.p10, high: summary.p90),
        detail: "\(summary.count) samples"
      )
    }
    let rows = report.rows.map { row -> [String] in
      let summary = row.samples.summary
      let reached = report.reached(row)
      func share(_ value: Double?) -> String { value.map { Format.fixed($0 * 100, 0) } ?? "" }
      return [
        row.stage, row.unit.name, Format.duration(summary.median), Format.duration(summary.p10),
        Format.duration(summary.p90), Format.duration(summary.p99), "\(summary.count)",
        "\(row.samples.disturbed.count)", share(reached.ofCompute), share(reached.ofRead),
      ]
    }
    return chart("\(file), measured", entries) + [
      .table(
        "Stages of \(file)",
        [
          "Stage", "Unit", "Median", "10th", "90th", "99th", "Samples", "Disturbed",
          "% of compute", "% of reading",
        ],
        words: 2,
        rows
      )
    ]
  }

  private static func simulated(_ launches: ReportData.Launches) -> [Markup] {
    let entries = launches.rows.map { row in
      Entry(stage: row.program, unit: row.unit, time: row.time, detail: "\(row.count) launches")
    }
    return chart(launches.title, entries) + [
      .table(
        "Launches of \(launches.title)",
        ["Program", "Unit", "Launches", "One", "At least", "At most", "All"],
        words: 2,
        launches.rows.map { row in
          [
            row.program, row.unit, "\(row.count)", Format.duration(row.time.value),
            Format.duration(row.time.low), Format.duration(row.time.high),
            Format.duration(row.time.value * Double(row.count)),
          ]
        }
      )
    ]
  }

  /// Bars, those of a stage under each other.
  private static func chart(_ title: String, _ entries: [Entry]) -> [Markup] {
    guard !entries.isEmpty else { return [] }
    let (left, top, step) = (250.0, 26.0, 17.0)
    let times = entries.flatMap { [$0.time.low, $0.time.value, $0.time.high] }
    let scale = Scale(logarithmic: times, from: left, to: Chart.width - 90)
    var stages: [String] = []
    for entry in entries where !stages.contains(entry.stage) { stages.append(entry.stage) }
    var (y, rows) = (top, [Markup]())
    for stage in stages {
      let own = entries.filter { $0.stage == stage }
      rows.append(Chart.label(short(stage), left - 12, y + 13, "label", anchor: "end"))
      for entry in own {
        rows += bar(entry, scale, y)
        y += step
      }
      y += 7
      rows.append(Chart.line("rule", 4, y - 3, Chart.width - 8, y - 3))
    }
    let marks = scale.marks.flatMap { mark in
      [
        Chart.line("grid", scale.place(mark), top - 6, scale.place(mark), y - 3),
        Chart.label(Format.mark(mark), scale.place(mark), 13, "tick", anchor: "middle"),
      ]
    }
    var units: [String] = []
    for entry in entries where !units.contains(entry.unit) { units.append(entry.unit) }
    return [
      .element("h3", [], words: title), Chart.legend(units),
      Chart.drawing("Latency of stages of \(title)", height: y + 2, marks + rows),
    ]
  }

  private static func bar(_ entry: Entry, _ scale: Scale, _ y: Double) -> [Markup] {
    let (low, high) = (scale.place(entry.time.low), scale.place(entry.time.high))
    let colour = Chart.colour(entry.unit)
    let title =
      "\(entry.stage) on \(entry.unit): \(Format.range(entry.time, Format.duration)), \(entry.detail)"
    return [
      Chart.bar("range " + colour, low - 1.5, y + 3, high - low + 3, 11, title),
      Chart.dot(colour, scale.place(entry.time.value), y + 8.5, title),
      Chart.label(Format.duration(entry.time.value), max(high, low) + 10, y + 13, "value"),
    ]
  }

  private static func short(_ name: String) -> String {
    name.count > 34 ? name.prefix(33) + "…" : name
  }
}
