import Graph

/// Placements side by side.
enum PlacementSection {
  /// Placements that a drawing shows; tables have all.
  private static let most = 24

  static func markup(_ placed: [ReportData.Placed]) -> Markup {
    guard !placed.isEmpty else { return .none }
    var groups: [String] = []
    for entry in placed where !groups.contains(entry.group) { groups.append(entry.group) }
    return .section(
      "placements",
      "Placements",
      [
        .note(
          "The fastest to the first token first. Two placements whose ranges overlap are not "
            + "distinguishable; those like the first are in full colour."
        )
      ] + groups.flatMap { group in figure(group, placed.filter { $0.group == group }) }
    )
  }

  private static func figure(_ group: String, _ placed: [ReportData.Placed]) -> [Markup] {
    let sorted = placed.sorted { ($0.firstToken.value, $0.name) < ($1.firstToken.value, $1.name) }
    let shown = Array(sorted.prefix(most))
    let rest = sorted.count - shown.count
    return [.element("h3", [], words: group)]
      + (rest > 0 ? [.note("The fastest \(shown.count) of \(sorted.count) are drawn.")] : [])
      + (shown.count > 1 ? [drawing(group, shown)] : [])
      + [
        .table(
          "Placements of \(group)",
          [
            "Placement", "First token", "At least", "At most", "Tokens/s", "At least", "At most",
            "J", "MiB",
          ],
          words: 1,
          sorted.map { entry in
            let (first, rate) = (entry.firstToken, entry.rate)
            return [
              entry.name, Format.duration(first.value), Format.duration(first.low),
              Format.duration(first.high), Format.digits(rate.value), Format.digits(rate.low),
              Format.digits(rate.high), entry.joules.map(Format.digits) ?? "",
              "\(entry.byteCount >> 20)",
            ]
          }
        )
      ]
  }

  private static func drawing(_ group: String, _ placed: [ReportData.Placed]) -> Markup {
    let (top, step, middle) = (44.0, 24.0, 700.0)
    let height = top + Double(placed.count) * step + 6
    let left = Scale(upTo: placed.map(\.firstToken.high).max() ?? 1, from: 330, to: middle - 90)
    let right = Scale(
      upTo: placed.map(\.rate.high).max() ?? 1,
      from: middle + 20,
      to: Chart.width - 70
    )
    let headings = [
      Chart.label("time to the first token", left.from, 12, "lane"),
      Chart.label("tokens per second", right.from, 12, "lane"),
    ]
    let rows = placed.enumerated().flatMap { index, entry -> [Markup] in
      let y = top + Double(index) * step
      let isNear = entry.firstToken.low <= placed[0].firstToken.high
      return [Chart.label(short(entry.name), 318, y + 15, "label", anchor: "end")]
        + bar(
          entry.name,
          entry.firstToken,
          left,
          y,
          isNear ? "first" : "first far",
          Format.duration
        )
        + bar(entry.name, entry.rate, right, y, "rate", Format.digits)
    }
    return Chart.drawing(
      "Placements of \(group)",
      height: height,
      headings + marks(left, height, Format.mark) + marks(right, height, Format.round) + rows
    )
  }

  private static func marks(
    _ scale: Scale,
    _ height: Double,
    _ text: (Double) -> String
  ) -> [Markup] {
    scale.marks.flatMap { mark in
      [
        Chart.line("grid", scale.place(mark), 36, scale.place(mark), height - 4),
        Chart.label(text(mark), scale.place(mark), 30, "tick", anchor: "middle"),
      ]
    }
  }

  /// A bar from zero with the range as a line over its end.
  private static func bar(
    _ name: String,
    _ value: Estimate,
    _ scale: Scale,
    _ y: Double,
    _ kind: String,
    _ text: @escaping (Double) -> String
  ) -> [Markup] {
    let title = "\(name): \(Format.range(value, text))"
    let (low, high) = (scale.place(value.low), scale.place(value.high))
    return [
      Chart.bar("bar " + kind, scale.from, y + 4, scale.place(value.value) - scale.from, 15, title),
      Chart.line("whisker", low, y + 11.5, high, y + 11.5),
      Chart.line("whisker", low, y + 8, low, y + 15),
      Chart.line("whisker", high, y + 8, high, y + 15),
      Chart.label(text(value.value), high + 7, y + 16, "value"),
    ]
  }

  private static func short(_ name: String) -> String {
    name.count > 46 ? name.prefix(45) + "…" : name
  }
}
