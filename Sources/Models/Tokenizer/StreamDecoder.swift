/// Turns ids into text one at a time.
///
/// All pieces together are what `Tokenizer.decode` gives for all ids. A run of byte tokens is
/// held back until it ends: only then is it known whether the run is valid UTF-8.
public struct StreamDecoder: Sendable {
  private let tokenizer: Tokenizer
  private let skipSpecial: Bool
  private var heldBytes: [UInt8] = []
  private var strippable: Int

  /// A decoder at the start of a text.
  ///
  /// - Parameters:
  ///   - tokenizer: whose ids are to come.
  ///   - skipSpecial: whether special tokens are left out.
  public init(_ tokenizer: Tokenizer, skipSpecial: Bool = true) {
    self.tokenizer = tokenizer
    self.skipSpecial = skipSpecial
    strippable = tokenizer.decoding.strippedCount
  }

  /// The text that one more id makes certain.
  ///
  /// - Parameter id: the next id.
  /// - Returns: text, empty where it is held back or special.
  /// - Throws: `TokenizerError.noToken`.
  public mutating func push(_ id: Int) throws(TokenizerError) -> String {
    guard let token = tokenizer.vocabulary.bytes(of: id) else {
      throw .noToken(id: id, count: tokenizer.count)
    }
    if skipSpecial, tokenizer.isSpecial(id) { return "" }
    let text = tokenizer.decoding.replacements.reduce(Array(token)) { $1.apply(to: $0) }
    if tokenizer.decoding.hasByteFallback, let byte = Self.byte(text) {
      heldBytes.append(byte)
      return ""
    }
    return stripped(released() + String(decoding: text, as: UTF8.self))
  }

  /// The text that was held back; call once after the last id.
  ///
  /// - Returns: text, as a rule empty.
  public mutating func flush() -> String { stripped(released()) }

  private mutating func released() -> String {
    guard !heldBytes.isEmpty else { return "" }
    defer { heldBytes.removeAll() }
    return String(validating: heldBytes, as: UTF8.self)
      ?? String(repeating: "\u{FFFD}", count: heldBytes.count)
  }

  private mutating func stripped(_ text: String) -> String {
    guard strippable > 0, !text.isEmpty else { return text }
    let prefix = tokenizer.decoding.strippedPrefix
    var rest = text.utf8[...]
    while strippable > 0, !rest.isEmpty {
      guard !prefix.isEmpty, rest.starts(with: prefix) else {
        strippable = 0
        break
      }
      rest = rest.dropFirst(prefix.count)
      strippable -= 1
    }
    return String(Substring(rest))
  }

  private static func byte(_ token: [UInt8]) -> UInt8? {
    guard token.count == 6, token.starts(with: Array("<0x".utf8)), token[5] == UInt8(ascii: ">")
    else { return nil }
    let digits = String(decoding: token[3..<5], as: UTF8.self)
    return digits.utf8.contains(UInt8(ascii: "+")) ? nil : UInt8(digits, radix: 16)
  }
}

extension Tokenizer {
  /// The text of ids.
  ///
  /// A run of byte tokens that is not valid UTF-8 gives one U+FFFD for each of its bytes.
  ///
  /// - Parameters:
  ///   - ids: ids of this tokenizer.
  ///   - skipSpecial: whether special tokens are left out.
  /// - Returns: the text.
  /// - Throws: `TokenizerError.noToken`.
  public func decode(_ ids: [Int], skipSpecial: Bool = false) throws(TokenizerError) -> String {
    var decoder = StreamDecoder(self, skipSpecial: skipSpecial)
    var text = ""
    for id in ids { text += try decoder.push(id) }
    return text + decoder.flush()
  }
}
