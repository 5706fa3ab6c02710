/// All that `config.json` says about a Gemma 4 checkpoint.
public struct Gemma4Configuration: Hashable, Sendable {
  /// The decoder.
  public var text: TextConfiguration
  /// The vision tower, where the checkpoint has one.
  public var vision: VisionConfiguration?
  /// The audio tower, where the checkpoint has one.
  public var audio: AudioConfiguration?

  /// A configuration from its parts.
  public init(
    text: TextConfiguration,
    vision: VisionConfiguration?,
    audio: AudioConfiguration?
  ) {
    self.text = text
    self.vision = vision
    self.audio = audio
  }

  /// Reads a parsed `config.json`.
  ///
  /// - Throws: `JSONError` naming the field that is missing, of the wrong type, out of range or
  ///   not supported.
  public init(_ root: JSONNode) throws {
    let kind = try root.string("model_type", or: "gemma4")
    guard kind == "gemma4" || kind == "gemma4_text" else {
      throw try root.member("model_type").mismatch("gemma4", came: kind)
    }
    text = try TextConfiguration(try root.optional("text_config") ?? root)
    vision = try root.optional("vision_config").map(VisionConfiguration.init)
    audio = try root.optional("audio_config").map { try AudioConfiguration($0) }
  }
}

extension JSONNode {
  /// A size: a whole number from `least` to a bound beyond any real model.
  func size(_ key: String, least: Int = 1, or fallback: Int? = nil) throws(JSONError) -> Int {
    if try optional(key) == nil, let fallback { return fallback }
    let value = try integer(key)
    guard value >= least, value <= 1 << 24 else {
      throw try member(key).mismatch("a number from \(least) to \(1 << 24)", came: "\(value)")
    }
    return value
  }

  /// A finite number above zero.
  func positive(_ key: String, or fallback: Double) throws(JSONError) -> Double {
    let value = try double(key, or: fallback)
    guard value > 0, value.isFinite else {
      throw try member(key).mismatch("a number above 0", came: "\(value)")
    }
    return value
  }

  /// Refuses a field whose value asks for something that is not supported.
  func refuse(_ key: String, unless allowed: [JSONValue]) throws(JSONError) {
    guard let node = try optional(key) else { return }
    guard allowed.contains(node.value) else {
      throw node.mismatch("a supported value", came: "\(node.value.summary)")
    }
  }
}

extension JSONValue {
  /// A short form for messages.
  var summary: String {
    switch self {
    case .string(let text): "'\(text.prefix(40))'"
    case .bool(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    default: kind
    }
  }
}
