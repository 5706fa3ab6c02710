public import Graph
public import Models

/// Device profiles as JSON documents.
///
/// A document has `profile` (1, the version of this format), `name`, `about`, `sources` (short names
/// of sources and what they stand for), `modelError`, `processors`, `sharedLayers`,
/// `waitsForStateReturn`, `convertsWeights`, `host` and `units`. A figure is a number or `{value, low, high, kind,
/// source}`; `kind` is measured, published, derived or assumed.
public enum ProfileFile {
  /// The version of the format.
  public static let version = 1

  /// Reads a profile.
  ///
  /// - Throws: `FileError` or `JSONError` naming the file and the key.
  public static func read(path: String) throws -> DeviceProfile {
    try read(JSONNode(file: path))
  }

  /// Reads a profile.
  ///
  /// - Throws: `JSONError` naming the file and the key.
  public static func read(_ document: JSONNode) throws(JSONError) -> DeviceProfile {
    let known = [
      "profile", "name", "about", "sources", "modelError", "processors", "sharedLayers",
      "waitsForStateReturn", "convertsWeights", "host", "units",
    ]
    for key in try document.object().keys where !known.contains(key) {
      throw document.mismatch("a field of profiles", came: key)
    }
    let version = try document.member("profile")
    guard try version.integer() == Self.version else {
      throw version.mismatch("version \(Self.version)", came: "\(try version.integer())")
    }
    var profile = DeviceProfile(
      name: try document.member("name").string(),
      summary: try document.optional("about")?.string() ?? ""
    )
    let reader = try FigureReader(document.optional("sources"))
    profile.modelError = try document.double("modelError", or: profile.modelError)
    guard (0...1).contains(profile.modelError) else {
      throw try document.member("modelError").mismatch("0 to 1", came: "\(profile.modelError)")
    }
    profile.processors = try document.optional("processors").map(processors) ?? 0
    profile.convertsWeights = try document.bool("convertsWeights", or: false)
    profile.waitsForStateReturn = try document.bool("waitsForStateReturn", or: false)
    if let shared = try document.optional("sharedLayers") {
      guard let rows = TextDecoder.SharedLayers(rawValue: try shared.string()) else {
        throw shared.mismatch("all or last", came: try shared.string())
      }
      profile.runsSharedLayersForAll = rows == .all
    }
    if let host = try document.optional("host") {
      for key in try host.object().keys {
        guard let name = HostFigure(rawValue: key) else {
          throw host.mismatch("a figure of the host", came: key)
        }
        profile.host[name] = try reader.figure(host.member(key), named: key)
      }
    }
    let units = try document.member("units")
    for key in try units.object().keys {
      let node = try units.member(key)
      guard let unit = try? UnitID(known: key) else {
        throw units.mismatch("units by their names", came: key)
      }
      profile.units[unit] = try self.unit(node, reader)
    }
    guard !profile.units.isEmpty else { throw units.mismatch("at least one unit", came: "none") }
    return profile
  }

  private static func unit(
    _ node: JSONNode,
    _ reader: FigureReader
  ) throws(JSONError) -> DeviceProfile.Unit {
    var unit = DeviceProfile.Unit()
    for key in try node.object().keys {
      let member = try node.member(key)
      switch key {
      case "fixedShapes": unit.hasFixedShapes = try member.bool()
      case "processors": unit.processors = try processors(member)
      case "products":
        for entry in try member.elements() { unit.products.append(try product(entry, reader)) }
      default:
        guard let name = UnitFigure(rawValue: key) else {
          throw node.mismatch("a figure of a unit", came: key)
        }
        unit.figures[name] = try reader.figure(member, named: key)
      }
    }
    return unit
  }

  private static func processors(_ node: JSONNode) throws(JSONError) -> Int {
    let count = try node.integer()
    guard (0...4096).contains(count) else { throw node.mismatch("0 to 4096", came: "\(count)") }
    return count
  }

  private static func product(
    _ node: JSONNode,
    _ reader: FigureReader
  ) throws(JSONError) -> DeviceProfile.ProductRate {
    var format: DType?
    if let weights = try node.optional("weights") {
      guard let known = DType(rawValue: try weights.string()) else {
        throw weights.mismatch("a format of weights", came: try weights.string())
      }
      format = known
    }
    let rows = try node.member("rows")
    guard try rows.integer() > 0 else { throw rows.mismatch("a number above 0") }
    return DeviceProfile.ProductRate(
      weights: format,
      rows: try rows.integer(),
      flopsPerSecond: try reader.figure(node.member("flopsPerSecond"))
    )
  }
}

/// Reads figures whose sources may be short names.
struct FigureReader {
  private var sources: [String: String] = [:]

  init(_ node: JSONNode?) throws(JSONError) {
    guard let node else { return }
    for key in try node.object().keys { sources[key] = try node.member(key).string() }
  }

  /// A figure by its name: times are of hours at most.
  func figure(_ node: JSONNode, named name: String) throws(JSONError) -> Figure {
    let figure = try figure(node)
    guard !name.hasSuffix("Nanoseconds") || figure.high <= 1e13 else {
      throw node.mismatch("at most 1e13 nanoseconds", came: "\(figure.high)")
    }
    return figure
  }

  func figure(_ node: JSONNode) throws(JSONError) -> Figure {
    if node.value.double != nil {
      return Figure(try number(node), .assumed, source: "no source given")
    }
    let kind = try node.member("kind")
    guard let provenance = Provenance(rawValue: try kind.string()) else {
      let names = Provenance.allCases.map(\.rawValue).joined(separator: ", ")
      throw kind.mismatch(names, came: try kind.string())
    }
    let value = try number(node.member("value"))
    let low = try node.optional("low").map { (node) throws(JSONError) in try number(node) }
    let high = try node.optional("high").map { (node) throws(JSONError) in try number(node) }
    guard (low ?? value) <= value, value <= (high ?? value) else {
      throw node.mismatch("low at most value, value at most high")
    }
    let source = try node.member("source").string()
    return Figure(
      value,
      low: low,
      high: high,
      provenance,
      source: sources[source] ?? source
    )
  }

  private func number(_ node: JSONNode) throws(JSONError) -> Double {
    let value = try node.double()
    guard value >= 0, value <= 1e18, value == 0 || value >= 1e-6 else {
      throw node.mismatch("0, or a number from 1e-6 to 1e18", came: "\(value)")
    }
    return value
  }
}
