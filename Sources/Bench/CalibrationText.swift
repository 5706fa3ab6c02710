import Graph
import Models
import Troika

/// A measured profile, and how well it predicts whole requests.
enum CalibrationText {
  static func lines(_ profile: DeviceProfile, _ validation: HostValidation?) -> [String] {
    var lines = [profile.summary]
    for (unit, figures) in profile.units.sorted(by: { $0.key.name < $1.key.name }) {
      lines += ["", unit.name]
      for name in UnitFigure.allCases {
        if let figure = figures.figures[name] { lines.append(row(name.rawValue, figure)) }
      }
      for product in figures.products.sorted(by: { $0.rows < $1.rows }) {
        let format = product.weights?.rawValue ?? "values"
        lines.append(row("product of \(product.rows), \(format)", product.flopsPerSecond))
      }
    }
    lines += ["", "host"]
    for name in HostFigure.allCases {
      if let figure = profile.host[name] { lines.append(row(name.rawValue, figure)) }
    }
    return lines + (validation.map(self.validation) ?? [])
  }

  private static func row(_ name: String, _ figure: Figure) -> String {
    "  " + TimelineText.pad(name, 36) + TimelineText.left(Format.significant(figure.value), 11)
      + TimelineText.left(Format.significant(figure.low), 11)
      + TimelineText.left(Format.significant(figure.high), 11)
  }

  private static func validation(_ validation: HostValidation) -> [String] {
    var lines = ["", "  measured ms   predicted  error  noise  placement"]
    for line in validation.lines {
      lines += PlanText.wrapped(
        TimelineText.left(Format.fixed(line.measured / 1e6, 1), 13)
          + TimelineText.left(Format.fixed(line.prediction.value / 1e6, 1), 12)
          + TimelineText.left(percent(line.error), 7) + TimelineText.left(percent(line.noise), 7)
          + "  ",
        "\(line.placement)",
        separator: ","
      )
    }
    return lines + [
      "",
      "\(validation.lines.count) placements: error median \(percent(validation.error(0.5))), "
        + "90th percentile \(percent(validation.error(0.9)))",
      "Kendall's rank correlation \(Format.fixed(validation.rankCorrelation, 3)), noise of a "
        + "single request \(percent(validation.noise))",
    ]
  }

  private static func percent(_ value: Double) -> String { Format.fixed(value * 100, 1) + "%" }

  static func json(_ profile: DeviceProfile, _ validation: HostValidation?) -> JSONValue {
    var fields: [(String, JSONValue)] = [("profile", ProfileFile.document(profile))]
    guard let validation else { return .object(fields: fields) }
    let rows = validation.lines.map { line -> JSONValue in
      .object(fields: [
        ("placement", .string("\(line.placement)")), ("promptTokens", .integer(line.promptTokens)),
        ("measuredNs", .number(line.measured)),
        ("predicted", SimulationJSON.estimate(line.prediction)), ("error", .number(line.error)),
        ("noise", .number(line.noise)),
      ])
    }
    fields += [
      ("placements", .array(rows)), ("medianError", .number(validation.error(0.5))),
      ("p90Error", .number(validation.error(0.9))),
      ("kendall", .number(validation.rankCorrelation)), ("noise", .number(validation.noise)),
    ]
    return .object(fields: fields)
  }
}
