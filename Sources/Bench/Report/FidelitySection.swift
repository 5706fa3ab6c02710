import Graph
import Troika

/// Predictions beside what was measured.
enum FidelitySection {
  static func markup(_ pairs: [ReportData.Pair]) -> Markup {
    guard !pairs.isEmpty else { return .none }
    let errors = pairs.map { error($0) }
    let sizes = SampleSummary(errors.map(abs))
    let inside = pairs.count {
      $0.predicted.low <= $0.measured.high && $0.measured.low <= $0.predicted.high
    }
    return .section(
      "fidelity",
      "Predicted and measured",
      [
        .note(
          "Figures that were predicted for the machine that measured them. On the line a prediction is "
            + "right; between the dashed lines it is within 10 %."
        ),
        .element(
          "p",
          [("class", "figures")],
          [
            figure("\(pairs.count)", "figures"),
            figure(Format.fixed(sizes.median * 100, 1) + " %", "error, median"),
            figure(Format.fixed(sizes.p90 * 100, 1) + " %", "error, 90th percentile"),
            figure(Format.fixed((errors.map(abs).max() ?? 0) * 100, 1) + " %", "error, largest"),
            figure("\(inside) of \(pairs.count)", "ranges that overlap"),
          ]
        ), drawing(pairs),
        .table(
          "Predictions and measurements",
          [
            "What", "Figure", "Predicted", "At least", "At most", "Measured", "At least", "At most",
            "Error %",
          ],
          words: 2,
          pairs.map { pair in
            [pair.name, pair.figure]
              + [pair.predicted, pair.measured].flatMap {
                [$0.value, $0.low, $0.high].map(Format.duration)
              } + [Format.fixed(error(pair) * 100, 1)]
          }
        ),
      ]
    )
  }

  private static func figure(_ number: String, _ words: String) -> Markup {
    .element("span", [], [.element("b", [], words: number), .text(" " + words)])
  }

  private static func error(_ pair: ReportData.Pair) -> Double {
    pair.measured.value > 0 ? pair.predicted.value / pair.measured.value - 1 : 0
  }

  private static func drawing(_ pairs: [ReportData.Pair]) -> Markup {
    let values = pairs.flatMap { [$0.predicted.low, $0.predicted.high, $0.measured.value] }
    let across = Scale(logarithmic: values, from: 90, to: 560)
    let up = Scale(logarithmic: values, from: 470, to: 16)
    let marks = across.marks.flatMap { mark -> [Markup] in
      let (x, y) = (across.place(mark), up.place(mark))
      return [
        Chart.line("grid", x, up.to, x, up.from), Chart.line("grid", across.from, y, across.to, y),
        Chart.label(Format.mark(mark), x, 488, "tick", anchor: "middle"),
        Chart.label(Format.mark(mark), 82, y + 4, "tick", anchor: "end"),
      ]
    }
    func diagonal(_ factor: Double, _ kind: String) -> Markup {
      let (low, high) = (across.low * max(1, 1 / factor), across.high * min(1, 1 / factor))
      return Chart.line(
        kind,
        across.place(low),
        up.place(low * factor),
        across.place(high),
        up.place(high * factor)
      )
    }
    let dots = pairs.flatMap { pair -> [Markup] in
      let (x, kind) = (
        across.place(pair.measured.value), pair.figure == "first token" ? "u-gpu" : "u-cpu"
      )
      let title =
        "\(pair.name), \(pair.figure): predicted \(Format.range(pair.predicted, Format.duration)), "
        + "measured \(Format.range(pair.measured, Format.duration))"
      return [
        Chart.line("whisker", x, up.place(pair.predicted.low), x, up.place(pair.predicted.high)),
        Chart.dot(kind, x, up.place(pair.predicted.value), title),
      ]
    }
    let words = [
      Chart.label("measured", 560, 508, "lane", anchor: "end"),
      Chart.label("predicted", 90, 11, "lane"),
      Chart.dot("u-gpu", 606, 40, "first token"), Chart.label("first token", 618, 44),
      Chart.dot("u-cpu", 606, 62, "decode step"), Chart.label("decode step", 618, 66),
    ]
    return Chart.drawing(
      "Predicted over measured times",
      height: 516,
      marks + [diagonal(1, "roof"), diagonal(1.1, "dash"), diagonal(1 / 1.1, "dash")] + dots + words
    )
  }
}
