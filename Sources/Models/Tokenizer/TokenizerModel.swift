extension BytePairEncoder {
  /// Reads the `model` part of `tokenizer.json`.
  init(_ model: JSONNode, _ vocabulary: Vocabulary) throws {
    try Self.checkKind(model)
    var unknown: Int?
    if let token = try model.optional("unk_token")?.string() {
      unknown = vocabulary.id(of: Array(token.utf8))
      guard unknown != nil else {
        throw TokenizerError.inconsistent(
          file: model.subject,
          expected: "unk_token '\(token.printable)' in the vocabulary",
          came: "nothing"
        )
      }
    }
    var byteIDs: [Int?]?
    if try model.bool("byte_fallback", or: false) {
      byteIDs = (0..<256).map { vocabulary.id(of: Array(Self.byteName($0).utf8)) }
    }
    self.init(
      vocabulary: vocabulary,
      merges: try Self.merges(try model.member("merges"), vocabulary),
      byteIDs: byteIDs,
      unknownID: unknown,
      fusesUnknown: try model.bool("fuse_unk", or: false),
      ignoresMerges: try model.bool("ignore_merges", or: false)
    )
  }

  /// The tokens that the model itself can make.
  static func vocabulary(_ model: JSONNode) throws -> Vocabulary {
    let members = try model.member("vocab").object().members
    var vocabulary = Vocabulary(capacity: members.count)
    for member in members {
      guard let id = member.value.integer, vocabulary.insert(Array(member.key.utf8), id: id)
      else {
        throw JSONNode(
          member.value,
          subject: model.subject,
          path: "model.vocab.\(member.key.printable)"
        ).mismatch("an id of its own", came: member.value.text())
      }
    }
    return vocabulary
  }

  /// The model's tokens and those added to them.
  static func vocabulary(
    _ own: Vocabulary,
    with added: [AddedToken],
    subject: String
  ) throws(TokenizerError) -> Vocabulary {
    var all = own
    for token in added {
      let known = all.id(of: token.content)
      if known == token.id { continue }
      guard known == nil, all.insert(token.content, id: token.id) else {
        let name = String(decoding: token.content, as: UTF8.self).printable
        throw .inconsistent(
          file: subject,
          expected: "id \(token.id) for added token '\(name)' alone",
          came: known.map { "id \($0)" } ?? "another token or an id too high"
        )
      }
    }
    return all
  }

  static func byteName(_ byte: Int) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "<0x" + (digits.count < 2 ? "0" : "") + digits + ">"
  }

  private static func checkKind(_ model: JSONNode) throws {
    func refuse(_ key: String, _ expected: String, _ came: String) -> TokenizerError {
      .unsupported(file: model.subject, field: "model." + key, expected: expected, came: came)
    }
    let kind = try model.string("type", or: "BPE")
    guard kind == "BPE" else { throw refuse("type", "'BPE'", "'\(kind)'") }
    for key in ["continuing_subword_prefix", "end_of_word_suffix"] {
      let affix = try model.string(key, or: "")
      guard affix.isEmpty else { throw refuse(key, "none", "'\(affix)'") }
    }
    let dropout = try model.double("dropout", or: 0)
    guard dropout == 0 else { throw refuse("dropout", "none", "\(dropout)") }
  }

  private static func merges(_ node: JSONNode, _ vocabulary: Vocabulary) throws -> MergeTable {
    guard let values = node.value.array else { throw node.mismatch("array") }
    var table = MergeTable(capacity: values.count)
    var both: [UInt8] = []
    for (index, value) in values.enumerated() {
      both.removeAll(keepingCapacity: true)
      let middle: Int
      switch value {
      case .array(let pair) where pair.count == 2:
        guard case .string(let left) = pair[0], case .string(let right) = pair[1] else {
          throw mismatch(node, value, index)
        }
        left.appendUTF8(to: &both)
        middle = both.count
        right.appendUTF8(to: &both)
      case .string(let text):
        if text.hasPrefix("#version") { continue }
        text.appendUTF8(to: &both)
        guard let space = both.firstIndex(of: 0x20), both.lastIndex(of: 0x20) == space else {
          throw mismatch(node, value, index)
        }
        both.remove(at: space)
        middle = space
      default: throw mismatch(node, value, index)
      }
      guard let ids = ids(of: both, splitAt: middle, vocabulary) else {
        throw JSONNode(value, subject: node.subject, path: "model.merges[\(index)]").mismatch(
          "two tokens and their result in the vocabulary",
          came: value.text().printable
        )
      }
      table.append(ids.left, ids.right, makes: ids.whole)
    }
    return table
  }

  private static func ids(
    of bytes: [UInt8],
    splitAt middle: Int,
    _ vocabulary: Vocabulary
  ) -> (left: Int, right: Int, whole: Int)? {
    bytes.withUnsafeBufferPointer { all in
      guard let left = vocabulary.id(of: UnsafeBufferPointer(rebasing: all[..<middle])),
        let right = vocabulary.id(of: UnsafeBufferPointer(rebasing: all[middle...])),
        let whole = vocabulary.id(of: all)
      else { return nil }
      return (left, right, whole)
    }
  }

  private static func mismatch(_ node: JSONNode, _ value: JSONValue, _ index: Int) -> JSONError {
    JSONNode(value, subject: node.subject, path: "model.merges[\(index)]")
      .mismatch("a pair of strings", came: value.text().printable)
  }
}
