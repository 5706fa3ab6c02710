public import Graph
public import Models

extension ProfileFile {
  /// The document of a profile.
  public static func document(_ profile: DeviceProfile) -> JSONValue {
    .object(fields: fields(profile))
  }

  /// The fields of a profile's document.
  public static func fields(_ profile: DeviceProfile) -> [(String, JSONValue)] {
    var fields: [(String, JSONValue)] = [
      ("profile", .integer(version)), ("name", .string(profile.name)),
      ("about", .string(profile.summary)), ("modelError", .number(profile.modelError)),
      ("processors", .integer(profile.processors)),
      ("sharedLayers", .string(profile.runsSharedLayersForAll ? "all" : "last")),
      ("convertsWeights", .bool(profile.convertsWeights)),
      ("waitsForStateReturn", .bool(profile.waitsForStateReturn)),
    ]
    let host = HostFigure.allCases.compactMap { name in
      profile.host[name].map { (name.rawValue, figure($0)) }
    }
    fields.append(("host", .object(fields: host)))
    let units = profile.units.sorted { $0.key.name < $1.key.name }
    fields.append(("units", .object(fields: units.map { ($0.key.name, unit($0.value)) })))
    return fields
  }

  private static func unit(_ unit: DeviceProfile.Unit) -> JSONValue {
    var fields: [(String, JSONValue)] = [
      ("fixedShapes", .bool(unit.hasFixedShapes)), ("processors", .integer(unit.processors)),
    ]
    for name in UnitFigure.allCases {
      if let value = unit.figures[name] { fields.append((name.rawValue, figure(value))) }
    }
    guard !unit.products.isEmpty else { return .object(fields: fields) }
    let products = unit.products.map { product -> JSONValue in
      let format = product.weights.map { [("weights", JSONValue.string($0.rawValue))] } ?? []
      return .object(
        fields: format + [
          ("rows", .integer(product.rows)), ("flopsPerSecond", figure(product.flopsPerSecond)),
        ]
      )
    }
    return .object(fields: fields + [("products", .array(products))])
  }

  private static func figure(_ figure: Figure) -> JSONValue {
    .object(fields: [
      ("value", .number(figure.value)), ("low", .number(figure.low)),
      ("high", .number(figure.high)), ("kind", .string(figure.provenance.rawValue)),
      ("source", .string(figure.source)),
    ])
  }
}
