/// A byte-pair tokenizer as `tokenizer.json` describes it.
///
/// Reads BPE models with merges in either spelling, byte fallback and added tokens; normalizers,
/// pre-tokenizers and decoders made of literal replacements and splits. Anything else is a typed
/// error: wrong ids are never an answer.
public final class Tokenizer: Sendable {
  let vocabulary: Vocabulary
  private let encoder: BytePairEncoder
  let decoding: TokenDecoding
  private let normalizations: [Normalization]
  private let splits: [PreSplit]
  private let rawMatcher: AddedTokenMatcher
  private let normalizedMatcher: AddedTokenMatcher
  private let specialIDs: Set<Int>
  /// The name of the file it was read from, for error messages.
  public let subject: String

  /// Reads `tokenizer.json`.
  ///
  /// - Parameter path: the file.
  /// - Throws: `FileError`, `JSONError` or `TokenizerError`.
  public convenience init(file path: String) throws {
    try self.init(JSONNode(file: path))
  }

  /// Reads `tokenizer.json` of a model folder.
  ///
  /// - Parameter folder: a Hugging Face model folder.
  /// - Throws: `FileError`, `JSONError` or `TokenizerError`.
  public convenience init(folder: String) throws {
    try self.init(file: folder + "/tokenizer.json")
  }

  /// Reads a parsed `tokenizer.json`.
  ///
  /// - Parameter node: its top.
  /// - Throws: `JSONError` or `TokenizerError`.
  public init(_ node: JSONNode) throws {
    subject = node.subject
    let added = try TokenizerComponents.addedTokens(node)
    let normalizations = try TokenizerComponents.normalizations(try node.optional("normalizer"))
    splits = try TokenizerComponents.splits(try node.optional("pre_tokenizer"))
    decoding = try TokenizerComponents.decoding(
      try node.optional("decoder"),
      subject: node.subject
    )
    let model = try node.member("model")
    let own = try BytePairEncoder.vocabulary(model)
    vocabulary = try BytePairEncoder.vocabulary(own, with: added, subject: node.subject)
    encoder = try BytePairEncoder(model, own)
    rawMatcher = AddedTokenMatcher(added.filter { !$0.isNormalized })
    normalizedMatcher = AddedTokenMatcher(
      added.filter(\.isNormalized).map { token in
        AddedToken(
          id: token.id,
          content: normalizations.reduce(token.content) { $1.apply(to: $0) },
          isSpecial: token.isSpecial,
          isNormalized: true,
          isSingleWord: token.isSingleWord,
          stripsLeft: token.stripsLeft,
          stripsRight: token.stripsRight
        )
      }
    )
    self.normalizations = normalizations
    specialIDs = Set(added.lazy.filter(\.isSpecial).map(\.id))
  }

  /// The highest id plus one.
  public var count: Int { vocabulary.count }

  /// The id of a token written as in the vocabulary, nil where there is none.
  public func id(of token: String) -> Int? { vocabulary.id(of: Array(token.utf8)) }

  /// The token of an id as written in the vocabulary, nil where there is none.
  public func token(of id: Int) -> String? {
    vocabulary.bytes(of: id).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether an id is a special token: left out of texts for people.
  public func isSpecial(_ id: Int) -> Bool { specialIDs.contains(id) }
}

extension Tokenizer {
  /// A stretch of text that stands beside others in one encoding.
  struct Stretch {
    let text: String
    let parsesSpecial: Bool
  }

  /// The ids of a text, with nothing added at its ends.
  ///
  /// - Parameters:
  ///   - text: any text.
  ///   - parseSpecial: whether special tokens in the text become their ids; else they are plain
  ///     text. Added tokens that are not special always match.
  /// - Returns: the ids.
  /// - Complexity: O(n log n).
  public func encode(_ text: String, parseSpecial: Bool = true) -> [Int] {
    encode([Stretch(text: text, parsesSpecial: parseSpecial)])
  }

  /// The ids of stretches as if they were one text; a special token has to lie in one stretch.
  func encode(_ stretches: [Stretch]) -> [Int] {
    var bytes: [UInt8] = []
    var parsed: [Range<Int>] = []
    for stretch in stretches {
      let start = bytes.count
      bytes.append(contentsOf: stretch.text.utf8)
      if stretch.parsesSpecial, bytes.count > start { parsed.append(start..<bytes.count) }
    }
    var ids: [Int] = []
    let matches = bytes.withUnsafeBufferPointer { all in
      rawMatcher.matches(in: all) { Self.contains(parsed, $0) }
    }
    var start = 0
    for match in matches {
      encodePlain(Array(bytes[start..<match.range.lowerBound]), parsed, at: start, into: &ids)
      ids.append(match.id)
      start = match.range.upperBound
    }
    encodePlain(Array(bytes[start...]), parsed, at: start, into: &ids)
    return ids
  }

  private static func contains(_ ranges: [Range<Int>], _ range: Range<Int>) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < range.upperBound { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= range.lowerBound
  }

  private func encodePlain(
    _ piece: [UInt8],
    _ parsed: [Range<Int>],
    at offset: Int,
    into ids: inout [Int]
  ) {
    guard !piece.isEmpty else { return }
    let allowsSpecial = Self.contains(parsed, offset..<offset + piece.count)
    let text = normalizations.reduce(piece) { $1.apply(to: $0) }
    let matches = text.withUnsafeBufferPointer { all in
      normalizedMatcher.matches(in: all) { _ in allowsSpecial }
    }
    var start = 0
    for match in matches {
      encodeWords(text[start..<match.range.lowerBound], into: &ids)
      ids.append(match.id)
      start = match.range.upperBound
    }
    encodeWords(text[start...], into: &ids)
  }

  private func encodeWords(_ text: ArraySlice<UInt8>, into ids: inout [Int]) {
    guard !text.isEmpty else { return }
    let words = splits.reduce([text]) { words, split in words.flatMap { split.apply(to: $0) } }
    for word in words {
      word.withUnsafeBufferPointer { encoder.encode($0, into: &ids) }
    }
  }
}
