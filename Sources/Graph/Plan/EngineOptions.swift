/// Switches of the neural engine that differ from its profile; nil keeps what the profile says.
public struct EngineOptions: Hashable, Sendable {
  /// A limit of programs: a number, or none.
  public enum Limit: Hashable, Sendable {
    /// As much as there is.
    case unlimited
    /// At most this much.
    case atMost(Int)

    /// The number, nil where there is no limit.
    public var value: Int? { if case .atMost(let most) = self { most } else { nil } }
  }

  /// What sums are kept in.
  public var accumulation: UnitNumerics.Accumulation?
  /// Whether fp16 subnormals become zero when stored.
  public var flushesSubnormals: Bool?
  /// Bytes of weights of one program.
  public var programBytes: Limit?
  /// Decoder layers of one program.
  public var layers: Limit?

  /// Nothing that differs from the profile.
  public init() {}

  /// These switches, and where they say nothing, those of `other`.
  public func over(_ other: EngineOptions) -> EngineOptions {
    var result = other
    result.accumulation = accumulation ?? other.accumulation
    result.flushesSubnormals = flushesSubnormals ?? other.flushesSubnormals
    result.programBytes = programBytes ?? other.programBytes
    result.layers = layers ?? other.layers
    return result
  }
}

extension EngineOptions: CustomStringConvertible {
  /// The inline form; empty where nothing differs.
  public var description: String {
    func text(_ limit: Limit) -> String { limit.value.map(String.init) ?? "none" }
    var parts: [String] = []
    if let accumulation { parts.append("accumulate=\(accumulation.rawValue)") }
    if let flushesSubnormals { parts.append("flush=\(flushesSubnormals ? "on" : "off")") }
    if let programBytes { parts.append("program-bytes=\(text(programBytes))") }
    if let layers { parts.append("layers=\(text(layers))") }
    return parts.joined(separator: ",")
  }
}

/// Why switches of the engine cannot be read.
public enum EngineOptionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An entry is not `key=value`.
  case malformed(String)
  /// A key is none of the four.
  case unknownKey(String)
  /// A value does not fit its key.
  case value(key: String, expected: String, got: String)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .malformed(let text): "engine: expected KEY=VALUE, got '\(text)'"
    case .unknownKey(let key):
      "engine: expected one of \(EngineOptions.keys.joined(separator: ", ")), got '\(key)'"
    case .value(let key, let expected, let got):
      "engine: \(key): expected \(expected), got '\(got)'"
    }
  }
}

extension EngineOptions {
  /// The keys of the inline form and of placement files.
  public static let keys = ["accumulate", "flush", "program-bytes", "layers"]

  /// Reads the inline form: `accumulate=f16,flush=on,program-bytes=none,layers=35`.
  ///
  /// - Throws: `EngineOptionError` naming what is not known.
  public init(parsing text: String) throws(EngineOptionError) {
    for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw .malformed(String(entry)) }
      try set(String(sides[0]), String(sides[1]))
    }
  }

  /// Sets one switch by its key.
  ///
  /// - Throws: `EngineOptionError` where the key or the value is not known.
  public mutating func set(_ key: String, _ value: String) throws(EngineOptionError) {
    switch key {
    case "accumulate":
      guard let kind = UnitNumerics.Accumulation(rawValue: value) else {
        throw .value(key: key, expected: "f16 or f32", got: value)
      }
      accumulation = kind
    case "flush":
      guard value == "on" || value == "off" else {
        throw .value(key: key, expected: "on or off", got: value)
      }
      flushesSubnormals = value == "on"
    case "program-bytes": programBytes = try Self.limit(key, value)
    case "layers": layers = try Self.limit(key, value)
    default: throw .unknownKey(key)
    }
  }

  private static func limit(_ key: String, _ value: String) throws(EngineOptionError) -> Limit {
    if value == "none" { return .unlimited }
    guard let number = Int(value), number > 0 else {
      throw .value(key: key, expected: "a whole number above 0, or none", got: value)
    }
    return .atMost(number)
  }
}
