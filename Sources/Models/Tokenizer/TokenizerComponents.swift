/// Reads the parts of `tokenizer.json` that transform text.
enum TokenizerComponents {
  static func normalizations(_ node: JSONNode?) throws -> [Normalization] {
    guard let node else { return [] }
    switch try node.string("type") {
    case "Sequence":
      return try node.elements("normalizers").flatMap { try normalizations($0) }
    case "Replace": return [.replace(try replacement(node))]
    case "Prepend": return [.prepend(Array(try node.string("prepend").utf8))]
    case let other: throw unsupported(node, "Replace, Prepend or Sequence", other)
    }
  }

  static func splits(_ node: JSONNode?) throws -> [PreSplit] {
    guard let node else { return [] }
    switch try node.string("type") {
    case "Sequence": return try node.elements("pretokenizers").flatMap { try splits($0) }
    case "Split":
      guard try !node.bool("invert", or: false) else {
        throw unsupported(node, "Split that is not inverted", "one that is")
      }
      let name = try node.string("behavior")
      guard let behavior = PreSplit.Behavior(rawValue: name) else {
        let known = PreSplit.Behavior.allCases.map(\.rawValue).joined(separator: ", ")
        throw unsupported(node, "behavior \(known)", name)
      }
      return [PreSplit(pattern: try pattern(node), behavior: behavior)]
    case let other: throw unsupported(node, "Split or Sequence", other)
    }
  }

  static func decoding(_ node: JSONNode?, subject: String) throws -> TokenDecoding {
    guard let node else {
      throw TokenizerError.unsupported(
        file: subject,
        field: "decoder",
        expected: "a decoder",
        came: "none"
      )
    }
    var result = TokenDecoding()
    var isFused = false
    let steps = try node.string("type") == "Sequence" ? node.elements("decoders") : [node]
    for step in steps {
      switch try step.string("type") {
      case "Replace" where !result.hasByteFallback && !isFused:
        result.replacements.append(try replacement(step))
      case "ByteFallback" where !isFused: result.hasByteFallback = true
      case "Fuse": isFused = true
      case "Strip" where isFused && result.strippedCount == 0:
        guard try step.integer("stop", or: 0) == 0 else {
          throw unsupported(step, "Strip at the start", "one at the end")
        }
        result.strippedPrefix = Array(try step.string("content").utf8)
        result.strippedCount = try max(0, step.integer("start", or: 0))
      case let other:
        throw unsupported(step, "Replace, ByteFallback, Fuse, Strip in this order", other)
      }
    }
    return result
  }

  static func addedTokens(_ node: JSONNode) throws -> [AddedToken] {
    try (node.optional("added_tokens")?.elements() ?? []).map { token in
      AddedToken(
        id: try token.integer("id"),
        content: Array(try token.string("content").utf8),
        isSpecial: try token.bool("special", or: false),
        isNormalized: try token.bool("normalized", or: true),
        isSingleWord: try token.bool("single_word", or: false),
        stripsLeft: try token.bool("lstrip", or: false),
        stripsRight: try token.bool("rstrip", or: false)
      )
    }
  }

  private static func replacement(_ node: JSONNode) throws -> ByteReplacement {
    ByteReplacement(
      pattern: try pattern(node),
      content: Array(try node.string("content").utf8)
    )
  }

  private static func pattern(_ node: JSONNode) throws -> [UInt8] {
    let pattern = try node.member("pattern")
    guard let text = try pattern.optional("String")?.string(), !text.isEmpty else {
      let came = try pattern.object().keys.first ?? "nothing"
      throw unsupported(pattern, "a String that is not empty", came)
    }
    return Array(text.utf8)
  }

  private static func unsupported(
    _ node: JSONNode,
    _ expected: String,
    _ came: String
  ) -> TokenizerError {
    .unsupported(file: node.subject, field: node.path, expected: expected, came: "'\(came)'")
  }
}
