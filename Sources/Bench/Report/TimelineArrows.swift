/// Arrows of a timeline: what a launch waited for on another unit.
enum TimelineArrows {
  /// Arrows that a page draws of one timeline.
  private static let most = 3000

  /// Lines from the end of what was waited for to the beginning of what waited.
  ///
  /// - Parameters:
  ///   - timeline: what ran where and when.
  ///   - begin: the time at the left end.
  ///   - scale: places of times.
  ///   - edge: the upper or lower edge of a lane's slices.
  /// - Returns: a group of paths.
  static func drawing(
    _ timeline: ReportData.Lanes,
    _ begin: Double,
    _ scale: Scale,
    edge: (_ lane: Int, _ isLower: Bool) -> Double
  ) -> Markup {
    .element(
      "g",
      [("class", "arrows"), ("aria-hidden", "true")],
      timeline.arrows.prefix(most).map { arrow in
        let isDown = arrow.to.lane > arrow.from.lane
        let (start, end) = (arrow.from.end - begin, arrow.to.start - begin)
        let (from, to) = (edge(arrow.from.lane, isDown), edge(arrow.to.lane, !isDown))
        return .element(
          "path",
          [
            ("class", "arrow"), ("d", path(scale.place(start), from, scale.place(end), to)),
            ("data-start", Chart.number(start)), ("data-end", Chart.number(end)),
            ("data-from", Chart.number(from)), ("data-to", Chart.number(to)),
            ("data-lane", "\(arrow.to.lane)"),
          ]
        )
      }
    )
  }

  /// A curve that leaves and arrives upright, with its head.
  private static func path(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
    let middle = Chart.number((y1 + y2) / 2)
    let (a, b) = (Chart.number(x1), Chart.number(x2))
    let back = Chart.number(y2 + (y2 > y1 ? -5 : 5))
    return "M\(a) \(Chart.number(y1))C\(a) \(middle) \(b) \(middle) \(b) \(Chart.number(y2))"
      + "M\(Chart.number(x2 - 2.5)) \(back)L\(b) \(Chart.number(y2))L\(Chart.number(x2 + 2.5)) \(back)"
  }

  /// What each slice waited for, in words.
  static func words(_ timeline: ReportData.Lanes) -> [ReportData.Lanes.Slice: String] {
    var sources: [ReportData.Lanes.Slice: [String]] = [:]
    for arrow in timeline.arrows {
      let name = "\(arrow.from.name) on \(timeline.unit(of: arrow.from))"
      if sources[arrow.to]?.contains(name) != true { sources[arrow.to, default: []].append(name) }
    }
    return sources.mapValues { "waited for " + $0.joined(separator: ", ") }
  }

  /// The arrows as a table, those between the same programs together.
  static func table(_ timeline: ReportData.Lanes) -> Markup {
    guard !timeline.arrows.isEmpty else { return .none }
    var sums: [[String]: (count: Int, time: Double)] = [:]
    for arrow in timeline.arrows {
      let key = [
        arrow.to.name, timeline.unit(of: arrow.to), arrow.from.name, timeline.unit(of: arrow.from),
      ]
      let known = sums[key] ?? (0, 0)
      sums[key] = (known.count + 1, known.time + max(0, arrow.to.start - arrow.from.end))
    }
    let rows = sums.sorted {
      ($1.value.count, $0.key[0], $0.key[2]) < ($0.value.count, $1.key[0], $1.key[2])
    }
    return .table(
      "Waits across units of \(timeline.title)",
      ["Program", "Unit", "Waited for", "Unit", "Times", "From its end to the start, on average"],
      words: 4,
      rows.map { key, sum in
        key + ["\(sum.count)", Format.duration(sum.time / Double(sum.count))]
      }
    )
  }
}
