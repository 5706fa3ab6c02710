/// Timelines by unit: what ran where and when.
enum TimelineSection {
  /// Slices that a page draws of one timeline.
  private static let most = 6000
  private static let left = 130.0
  private static let laneHeight = 34.0
  private static let top = 26.0

  static func markup(_ timelines: [ReportData.Lanes]) -> Markup {
    guard !timelines.isEmpty else { return .none }
    return .section(
      "timelines",
      "Timelines",
      [
        .note(
          "A lane for each unit. Zoom with the buttons or + and -, pan by dragging or Page Up and Page "
            + "Down, walk from slice to slice with the arrow keys. Grey: the unit waits. Arrows: what "
            + "waited for another unit."
        )
      ] + timelines.enumerated().flatMap { figure($1, number: $0) }
    )
  }

  private static func figure(_ timeline: ReportData.Lanes, number: Int) -> [Markup] {
    let slices = timeline.slices.sorted { $0.end - $0.start > $1.end - $1.start }
      .prefix(most).sorted { ($0.lane, $0.start) < ($1.lane, $1.start) }
    let begin = timeline.slices.map(\.start).min() ?? 0
    let end = max(timeline.slices.map(\.end).max() ?? 1, begin + 1)
    let scale = Scale(upTo: (end - begin) / 1.02, from: left, to: Chart.width - 8)
    let height = top + Double(timeline.lanes.count) * laneHeight + 6
    let rest = timeline.slices.count - slices.count
    let waits = TimelineArrows.words(timeline)
    let drawing: [Markup] =
      axis(scale, height)
      + timeline.lanes.enumerated().flatMap { lane($1, number: $0) }
      + [
        .element(
          "g",
          [("class", "slices")],
          slices.map { slice($0, begin, scale, timeline, waits[$0]) }
        ),
        TimelineArrows.drawing(timeline, begin, scale) { lane, isLower in
          top + Double(lane) * laneHeight + (isLower ? laneHeight - 4 : 4)
        },
        .element("g", [("class", "names")], slices.compactMap { name($0, begin, scale) }),
      ]
    return [
      .element("h3", [], words: timeline.title),
      .element(
        "div",
        [("class", "timeline"), ("data-end", Chart.number(end - begin))],
        [
          buttons,
          .element(
            "svg",
            [
              ("viewBox", "0 0 \(Chart.number(Chart.width)) \(Chart.number(height))"),
              ("role", "application"), ("tabindex", "0"),
              ("aria-label", "Timeline of \(timeline.title), \(Format.duration(end - begin))"),
            ],
            drawing
          ),
          .element(
            "p",
            [("class", "detail"), ("aria-live", "polite")],
            words: rest > 0
              ? "The \(slices.count) longest of \(timeline.slices.count) slices are drawn."
              : "\(slices.count) slices in \(Format.duration(end - begin))"
          ),
        ]
      ),
      units(timeline, end - begin), programs(timeline), TimelineArrows.table(timeline),
    ]
  }

  private static var buttons: Markup {
    let kinds: [(StaticString, String, String)] = [
      ("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("all", "All", "Show all"),
    ]
    return .element(
      "p",
      [("class", "buttons"), ("hidden", "hidden")],
      kinds.map { kind, sign, label in
        .element(
          "button",
          [("type", "button"), ("data-zoom", "\(kind)"), ("aria-label", label)],
          words: sign
        )
      }
    )
  }

  private static func axis(_ scale: Scale, _ height: Double) -> [Markup] {
    [
      .element(
        "g",
        [("class", "axis")],
        scale.marks.flatMap { mark -> [Markup] in
          let x = scale.place(mark)
          return [
            Chart.line("grid", x, top - 6, x, height - 4),
            Chart.label(Format.mark(mark), x, 13, "tick", anchor: "middle"),
          ]
        }
      )
    ]
  }

  private static func lane(_ unit: String, number: Int) -> [Markup] {
    let y = top + Double(number) * laneHeight
    let shown = unit.count > 17 ? unit.prefix(16) + "…" : unit[...]
    return [
      Chart.line("rule", left, y + laneHeight, Chart.width - 8, y + laneHeight),
      Chart.label(String(shown), 4, y + laneHeight / 2 + 5, "lane"),
    ]
  }

  private static func slice(
    _ slice: ReportData.Lanes.Slice,
    _ begin: Double,
    _ scale: Scale,
    _ timeline: ReportData.Lanes,
    _ wait: String?
  ) -> Markup {
    let (start, end) = (slice.start - begin, slice.end - begin)
    let unit = timeline.unit(of: slice)
    let title =
      "\(slice.name), \(unit), \(Format.duration(end - start)) from \(Format.duration(start))"
      + (wait.map { "; \($0)" } ?? "")
    return .element(
      "rect",
      [
        ("class", slice.isIdle ? "idle" : "slice " + Chart.colour(unit)),
        ("x", Chart.number(scale.place(start))),
        ("y", Chart.number(top + Double(slice.lane) * laneHeight + (slice.isIdle ? 12 : 4))),
        ("width", Chart.number(max(scale.place(end) - scale.place(start), 0.6))),
        ("height", Chart.number(laneHeight - (slice.isIdle ? 22 : 8))), ("rx", "2"),
        ("data-start", Chart.number(start)), ("data-end", Chart.number(end)),
        ("data-lane", "\(slice.lane)"),
      ],
      [.element("title", [], words: title)]
    )
  }

  /// The name in a slice; hidden where it does not fit.
  private static func name(
    _ slice: ReportData.Lanes.Slice,
    _ begin: Double,
    _ scale: Scale
  ) -> Markup? {
    guard !slice.isIdle else { return nil }
    let (x, end) = (scale.place(slice.start - begin), scale.place(slice.end - begin))
    let fits = end - x > Double(slice.name.count) * 6.6 + 8
    return .element(
      "text",
      [
        ("class", fits ? "name" : "name hidden"), ("x", Chart.number(x + 5)),
        ("y", Chart.number(top + Double(slice.lane) * laneHeight + 21)),
        ("data-start", Chart.number(slice.start - begin)),
        ("data-end", Chart.number(slice.end - begin)),
      ],
      words: slice.name
    )
  }

  // MARK: - Tables

  private static func units(_ timeline: ReportData.Lanes, _ span: Double) -> Markup {
    let rows = timeline.lanes.enumerated().map { index, unit in
      let own = timeline.slices.filter { $0.lane == index && !$0.isIdle }
      let busy = covered(own)
      return [
        unit, "\(own.count)", Format.duration(busy), Format.duration(max(0, span - busy)),
        Format.fixed(busy / span * 100, 1),
      ]
    }
    return .table(
      "Units of \(timeline.title)",
      ["Unit", "Launches", "Busy", "Not busy", "Busy %"],
      words: 1,
      rows
    )
  }

  /// Time in which at least one of some slices runs.
  private static func covered(_ slices: [ReportData.Lanes.Slice]) -> Double {
    var (total, last) = (0.0, -Double.infinity)
    for slice in slices.sorted(by: { $0.start < $1.start }) where slice.end > last {
      total += slice.end - max(slice.start, last)
      last = slice.end
    }
    return total
  }

  private static func programs(_ timeline: ReportData.Lanes) -> Markup {
    var sums: [[String]: (count: Int, time: Double, longest: Double)] = [:]
    for slice in timeline.slices where !slice.isIdle {
      let unit = timeline.unit(of: slice)
      let time = slice.end - slice.start
      let known = sums[[slice.name, unit]] ?? (0, 0, 0)
      sums[[slice.name, unit]] = (known.count + 1, known.time + time, max(known.longest, time))
    }
    let rows = sums.sorted { ($1.value.time, $0.key[0]) < ($0.value.time, $1.key[0]) }
    return .table(
      "Programs of \(timeline.title)",
      ["Program", "Unit", "Launches", "All", "One on average", "Longest"],
      words: 2,
      rows.map { key, sum in
        key + [
          "\(sum.count)", Format.duration(sum.time), Format.duration(sum.time / Double(sum.count)),
          Format.duration(sum.longest),
        ]
      }
    )
  }
}
