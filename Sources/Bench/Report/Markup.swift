/// A piece of a page.
///
/// Text gets into one escaped or not at all.
struct Markup {
  /// The characters of the page.
  fileprivate let source: String

  /// Nothing.
  static let none = Markup(source: "")

  /// Whether it is nothing.
  var isEmpty: Bool { source.isEmpty }

  /// The characters as they are written to a file.
  var characters: String { source }

  /// Words of anyone: what means something to a browser, or may not be in a document, is replaced.
  static func text(_ words: String) -> Markup {
    var source = ""
    for scalar in words.unicodeScalars {
      switch scalar {
      case "&": source += "&amp;"
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "\"": source += "&quot;"
      case "'": source += "&#39;"
      case "\n", "\t": source.unicodeScalars.append(scalar)
      case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}", "\u{FFFE}", "\u{FFFF}": source += "\u{FFFD}"
      // Marks that turn the direction of what follows.
      case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": source += "\u{FFFD}"
      default: source.unicodeScalars.append(scalar)
      }
    }
    return Markup(source: source)
  }

  /// An element with its attributes and what is in it.
  static func element(
    _ name: StaticString,
    _ attributes: [(String, String)] = [],
    _ children: [Markup] = []
  ) -> Markup {
    var source = "<\(name)"
    for (key, value) in attributes { source += " \(key)=\"\(text(value).source)\"" }
    if children.isEmpty, closed.contains("\(name)") { return Markup(source: source + "/>") }
    source += ">"
    for child in children { source += child.source }
    return Markup(source: source + "</\(name)>")
  }

  /// An element with words in it.
  static func element(
    _ name: StaticString,
    _ attributes: [(String, String)] = [],
    words: String
  ) -> Markup {
    element(name, attributes, [text(words)])
  }

  /// What is written into this program: styles and scripts.
  static func builtIn(_ bytes: [UInt8]) -> Markup {
    Markup(source: String(decoding: bytes, as: UTF8.self))
  }

  /// Elements that nothing is ever in.
  private static let closed: Set<String> = [
    "meta", "br", "rect", "line", "circle", "path", "polygon",
  ]
}

extension Markup {
  /// A table; the first columns are words, the rest numbers.
  ///
  /// Of very many rows the first are shown.
  static func table(
    _ caption: String,
    _ columns: [String],
    words: Int,
    _ rows: [[String]]
  ) -> Markup {
    let most = 1000
    func cells(_ name: StaticString, _ texts: [String], _ scope: Bool) -> [Markup] {
      texts.enumerated().map { index, text in
        element(
          name,
          (scope ? [("scope", "col")] : []) + (index < words ? [] : [("class", "number")]),
          words: text
        )
      }
    }
    let body = rows.prefix(most).map { element("tr", [], cells("td", $0, false)) }
    let more = rows.count > most ? ", the first \(most) of \(rows.count)" : ""
    return element(
      "div",
      [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", caption)],
      [
        element(
          "table",
          [],
          [
            element("caption", [], words: caption + more),
            element("thead", [], [element("tr", [], cells("th", columns, true))]),
            element("tbody", [], Array(body)),
          ]
        )
      ]
    )
  }

  /// A part of the page.
  static func section(_ id: StaticString, _ title: String, _ children: [Markup]) -> Markup {
    element(
      "section",
      [("id", "\(id)"), ("aria-labelledby", "\(id)-title")],
      [element("h2", [("id", "\(id)-title")], words: title)] + children
    )
  }

  /// A note below a heading.
  static func note(_ words: String) -> Markup { element("p", [("class", "note")], words: words) }
}
