import Graph
import Models
import Troika

/// What a placement file says.
struct PlacementInspection {
  let fields: [(String, JSONValue)]

  init(_ file: PlacementFile) {
    var fields: [(String, JSONValue)] = [
      ("kind", "placement"), ("base", .string(file.placement.base.name)),
      (
        "rules",
        .array(
          file.placement.rules.map { rule in
            .object(fields: [("key", .string(rule.key)), ("unit", .string(rule.unit.name))])
          }
        )
      ),
    ]
    if let cuts = file.cuts { fields.append(("cuts", .array(cuts.map { .integer($0) }))) }
    if let counts = file.prefill { fields.append(("prefill", .array(counts.map { .integer($0) }))) }
    if let rule = file.batches { fields.append(("batches", .string(rule.rawValue))) }
    if let rule = file.sharedLayers { fields.append(("sharedLayers", .string(rule.rawValue))) }
    if let isAllowed = file.allowsFallback { fields.append(("fallback", .bool(isAllowed))) }
    let engine = Self.engine(file.engine)
    if !engine.isEmpty { fields.append(("engine", .object(fields: engine))) }
    self.fields = fields
  }

  /// Switches that differ from the profile, by their keys.
  static func engine(_ options: EngineOptions) -> [(String, JSONValue)] {
    func limit(_ limit: EngineOptions.Limit) -> JSONValue {
      limit.value.map { .integer($0) } ?? "none"
    }
    var fields: [(String, JSONValue)] = []
    if let kind = options.accumulation { fields.append(("accumulate", .string(kind.rawValue))) }
    if let isOn = options.flushesSubnormals { fields.append(("flush", .bool(isOn))) }
    if let most = options.programBytes { fields.append(("program-bytes", limit(most))) }
    if let most = options.layers { fields.append(("layers", limit(most))) }
    return fields
  }
}
