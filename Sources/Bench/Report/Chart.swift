import Foundation
import Graph

/// What charts share: a drawing of a fixed width, scales with round marks, colours of units.
enum Chart {
  /// Width of drawings in their own units.
  static let width = 1080.0

  /// A number as an attribute.
  static func number(_ value: Double) -> String {
    let text = String(format: "%.2f", value)
    return text.hasSuffix(".00") ? String(text.dropLast(3)) : text
  }

  /// A drawing in a frame that scrolls where the page is narrow.
  static func drawing(_ label: String, height: Double, _ children: [Markup]) -> Markup {
    .element(
      "div",
      [("class", "drawing"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)],
      [
        .element(
          "svg",
          [
            ("viewBox", "0 0 \(number(width)) \(number(height))"), ("role", "img"),
            ("aria-label", label),
          ],
          children
        )
      ]
    )
  }

  /// Words in a drawing.
  static func label(
    _ words: String,
    _ x: Double,
    _ y: Double,
    _ kind: String = "label",
    anchor: String = "start"
  ) -> Markup {
    .element(
      "text",
      [("class", kind), ("x", number(x)), ("y", number(y)), ("text-anchor", anchor)],
      words: words
    )
  }

  /// A straight line.
  static func line(
    _ kind: String,
    _ x1: Double,
    _ y1: Double,
    _ x2: Double,
    _ y2: Double
  ) -> Markup {
    .element(
      "line",
      [
        ("class", kind), ("x1", number(x1)), ("y1", number(y1)), ("x2", number(x2)),
        ("y2", number(y2)),
      ]
    )
  }

  /// A filled rectangle that says what it stands for.
  static func bar(
    _ kind: String,
    _ x: Double,
    _ y: Double,
    _ width: Double,
    _ height: Double,
    _ title: String
  ) -> Markup {
    .element(
      "rect",
      [
        ("class", kind), ("x", number(x)), ("y", number(y)), ("width", number(max(width, 0.5))),
        ("height", number(height)), ("rx", number(min(2.5, width / 2))),
      ],
      [.element("title", [], words: title)]
    )
  }

  /// A dot that says what it stands for.
  static func dot(
    _ kind: String,
    _ x: Double,
    _ y: Double,
    _ title: String,
    radius: Double = 4.5
  ) -> Markup {
    .element(
      "circle",
      [("class", kind), ("cx", number(x)), ("cy", number(y)), ("r", number(radius))],
      [.element("title", [], words: title)]
    )
  }

  /// The colour class of a unit; names of nobody get one of four.
  static func colour(_ unit: String) -> String {
    switch unit {
    case "cpu": "u-cpu"
    case "gpu": "u-gpu"
    case "neuralEngine": "u-engine"
    case "gpu:emulated": "u-emulated"
    case "reference": "u-reference"
    case "host": "u-host"
    default: "u-other\(unit.unicodeScalars.reduce(0) { ($0 + Int($1.value)) % 4 })"
    }
  }

  /// Units with their colours.
  static func legend(_ units: [String]) -> Markup {
    .element(
      "p",
      [("class", "legend")],
      units.map { unit in
        .element(
          "span",
          [],
          [.element("i", [("class", colour(unit))]), .text(unit)]
        )
      }
    )
  }
}

/// A scale from values to places.
struct Scale {
  let low: Double
  let high: Double
  let from: Double
  let to: Double
  let isLogarithmic: Bool

  /// A scale that begins at 0.
  init(upTo most: Double, from: Double, to: Double) {
    (low, high) = (0, most > 0 ? most * 1.02 : 1)
    (self.from, self.to, isLogarithmic) = (from, to, false)
  }

  /// A scale on which a factor is a distance.
  init(logarithmic values: [Double], from: Double, to: Double) {
    let positive = values.filter { $0 > 0 && $0.isFinite }
    low = (positive.min() ?? 1) / 1.25
    high = max((positive.max() ?? 10) * 1.25, low * 10)
    (self.from, self.to, isLogarithmic) = (from, to, true)
  }

  /// The place of a value.
  func place(_ value: Double) -> Double {
    let bounded = min(max(value, low), high)
    let share =
      isLogarithmic ? log(bounded / low) / log(high / low) : (bounded - low) / (high - low)
    return from + share * (to - from)
  }

  /// Round values to mark.
  var marks: [Double] {
    guard isLogarithmic else {
      let step = Self.step(high / 6)
      return Array(stride(from: 0, through: high, by: step))
    }
    let decades = Int(floor(log10(low)))...Int(ceil(log10(high)))
    let factors: [Double] = decades.count > 4 ? [1] : [1, 2, 5]
    return decades.flatMap { decade in factors.map { $0 * pow(10, Double(decade)) } }
      .filter { $0 >= low && $0 <= high }
  }

  private static func step(_ rough: Double) -> Double {
    let base = pow(10, floor(log10(rough)))
    return ([1, 2, 5].map { $0 * base }.first { $0 >= rough }) ?? 10 * base
  }
}

extension Format {
  /// A duration with the unit that suits it.
  static func duration(_ nanoseconds: Double) -> String {
    switch abs(nanoseconds) {
    case 1e9...: digits(nanoseconds / 1e9) + " s"
    case 1e6...: digits(nanoseconds / 1e6) + " ms"
    case 1e3...: digits(nanoseconds / 1e3) + " µs"
    default: digits(nanoseconds) + " ns"
    }
  }

  /// Three significant digits, without an exponent.
  static func digits(_ value: Double) -> String {
    guard value != 0, value.isFinite else { return value == 0 ? "0" : "-" }
    return fixed(value, max(0, min(6, 2 - Int(floor(log10(abs(value)))))))
  }

  /// A round duration, as scales mark it.
  static func mark(_ nanoseconds: Double) -> String {
    guard nanoseconds != 0 else { return "0" }
    let parts = duration(nanoseconds).split(separator: " ", maxSplits: 1)
    return plain(String(parts[0])) + " " + parts.dropFirst().joined()
  }

  /// A round number, as scales mark it.
  static func round(_ value: Double) -> String { plain(digits(value)) }

  private static func plain(_ number: String) -> String {
    guard number.contains(".") else { return number }
    let short = number.reversed().drop { $0 == "0" }.drop { $0 == "." }
    return String(short.reversed())
  }

  /// A value with its range.
  static func range(_ estimate: Estimate, _ text: (Double) -> String) -> String {
    estimate.low == estimate.high
      ? text(estimate.value)
      : "\(text(estimate.value)) (\(text(estimate.low)) to \(text(estimate.high)))"
  }
}
