import Foundation
import Troika

/// One page that needs nothing beside itself.
enum ReportPage {
  /// The page.
  ///
  /// - Parameters:
  ///   - data: what it shows.
  ///   - title: what it is called.
  /// - Returns: an HTML document that is also well-formed XML behind its first line.
  static func text(_ data: ReportData, title: String) -> String {
    let sections: [(id: String, title: String, markup: Markup)] = [
      ("timelines", "Timelines", TimelineSection.markup(data.lanes)),
      ("placements", "Placements", PlacementSection.markup(data.placed)),
      ("fidelity", "Predicted and measured", FidelitySection.markup(data.pairs)),
      ("stages", "Stage latency", StageSection.markup(data)),
      ("roofline", "Roofline", RooflineSection.markup(data.benches)),
      ("audit", "Audit", AuditSection.markup(data)),
    ].filter { !$0.markup.isEmpty }
    let page = Markup.element(
      "html",
      [("lang", "en")],
      [
        head(title),
        .element(
          "body",
          [],
          [
            header(data, title), navigation(sections.map { ($0.id, $0.title) }),
            .element("main", [], sections.map(\.markup)),
            .element("div", [("id", "tip"), ("hidden", "hidden"), ("aria-hidden", "true")]),
            .element("script", [], [.builtIn(PackageResources.report_js)]),
          ]
        ),
      ]
    )
    return "<!DOCTYPE html>\n" + page.characters + "\n"
  }

  private static func head(_ title: String) -> Markup {
    .element(
      "head",
      [],
      [
        .element("meta", [("charset", "utf-8")]),
        .element(
          "meta",
          [("name", "viewport"), ("content", "width=device-width, initial-scale=1")]
        ),
        .element("meta", [("name", "color-scheme"), ("content", "light dark")]),
        .element("title", [], words: title),
        .element("style", [], [.builtIn(PackageResources.report_css)]),
      ]
    )
  }

  private static func header(_ data: ReportData, _ title: String) -> Markup {
    let kinds = data.sources.map(\.kind).reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    let words = kinds.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
    return .element(
      "header",
      [],
      [
        .element("p", [("class", "mark")], words: "Troika \(MachineFacts.version)"),
        .element("h1", [], words: title),
        .element("p", [("class", "note")], words: words.joined(separator: ", ")),
      ]
        + data.machines.prefix(3).map {
          .element("p", [("class", "machine")], words: $0.machine)
        }
    )
  }

  private static func navigation(_ sections: [(String, String)]) -> Markup {
    .element(
      "nav",
      [("aria-label", "Sections")],
      sections.map { id, title in .element("a", [("href", "#" + id)], words: title) }
    )
  }
}
