/// A token that is matched in the text before byte-pair encoding.
struct AddedToken: Hashable, Sendable {
  let id: Int
  let content: [UInt8]
  let isSpecial: Bool
  let isNormalized: Bool
  let isSingleWord: Bool
  let stripsLeft: Bool
  let stripsRight: Bool
}

/// Finds added tokens: leftmost first, the longest of those that start together.
struct AddedTokenMatcher: Sendable {
  struct Match {
    let id: Int
    let range: Range<Int>
  }

  private let tokens: [AddedToken]
  private var roots = [Int32](repeating: -1, count: 256)
  private var firstEdges: [Int32] = []
  private var edgeBytes: [UInt8] = []
  private var edgeTargets: [Int32] = []
  private var terminals: [Int32] = []

  /// A matcher for tokens whose `content` is what to look for.
  init(_ tokens: [AddedToken]) {
    self.tokens = tokens
    var children: [[(byte: UInt8, node: Int32)]] = []
    func node() -> Int32 {
      children.append([])
      terminals.append(-1)
      return Int32(truncatingIfNeeded: children.count - 1)
    }
    for (index, token) in tokens.enumerated() {
      guard let first = token.content.first else { continue }
      if roots[Int(first)] < 0 { roots[Int(first)] = node() }
      var place = Int(roots[Int(first)])
      for byte in token.content.dropFirst() {
        if let child = children[place].first(where: { $0.byte == byte }) {
          place = Int(child.node)
        } else {
          let child = node()
          children[place].append((byte, child))
          place = Int(child)
        }
      }
      terminals[place] = Int32(truncatingIfNeeded: index)
    }
    for edges in children {
      firstEdges.append(Int32(truncatingIfNeeded: edgeBytes.count))
      edgeBytes.append(contentsOf: edges.map(\.byte))
      edgeTargets.append(contentsOf: edges.map(\.node))
    }
    firstEdges.append(Int32(truncatingIfNeeded: edgeBytes.count))
  }

  var isEmpty: Bool { tokens.isEmpty }

  /// All matches in `text`, in order, without overlaps.
  ///
  /// - Parameters:
  ///   - text: valid UTF-8.
  ///   - allowsSpecial: whether a special token may lie in this range.
  /// - Returns: the matches.
  /// - Complexity: O(text × longest token), linear for texts without long near-matches.
  func matches(
    in text: UnsafeBufferPointer<UInt8>,
    allowsSpecial: (Range<Int>) -> Bool
  ) -> [Match] {
    guard !isEmpty else { return [] }
    var result: [Match] = []
    var position = 0
    var free = 0
    while position < text.count {
      guard roots[Int(text[position])] >= 0,
        let (token, end) = longest(in: text, at: position, allowsSpecial)
      else {
        position += 1
        continue
      }
      if let range = extended(token, position..<end, in: text, from: free) {
        result.append(Match(id: token.id, range: range))
        free = range.upperBound
        position = max(range.upperBound, end)
      } else {
        position = end
      }
    }
    return result
  }

  private func longest(
    in text: UnsafeBufferPointer<UInt8>,
    at start: Int,
    _ allowsSpecial: (Range<Int>) -> Bool
  ) -> (AddedToken, Int)? {
    var place = Int(roots[Int(text[start])])
    var end = start + 1
    var best: (AddedToken, Int)?
    while true {
      let terminal = Int(terminals[place])
      if terminal >= 0, !tokens[terminal].isSpecial || allowsSpecial(start..<end) {
        best = (tokens[terminal], end)
      }
      guard end < text.count else { return best }
      let edges = Int(firstEdges[place])..<Int(firstEdges[place + 1])
      guard let edge = edges.first(where: { edgeBytes[$0] == text[end] }) else { return best }
      place = Int(edgeTargets[edge])
      end += 1
    }
  }

  /// The range with the spaces a token swallows; nil where it has to be a word and is not.
  private func extended(
    _ token: AddedToken,
    _ range: Range<Int>,
    in text: UnsafeBufferPointer<UInt8>,
    from free: Int
  ) -> Range<Int>? {
    if token.isSingleWord {
      let before = scalar(before: range.lowerBound, in: text)
      let after = scalar(at: range.upperBound, in: text)
      if before.map(isWord) == true || after.map(isWord) == true { return nil }
    }
    var (start, end) = (range.lowerBound, range.upperBound)
    if token.stripsLeft {
      while start > free, let space = scalar(before: start, in: text),
        space.properties.isWhitespace
      {
        start -= UTF8.width(space)
      }
    }
    if token.stripsRight {
      while let space = scalar(at: end, in: text), space.properties.isWhitespace {
        end += UTF8.width(space)
      }
    }
    return start..<end
  }

  private func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
      || [.nonspacingMark, .spacingMark, .enclosingMark, .connectorPunctuation].contains(
        scalar.properties.generalCategory
      )
  }

  private func scalar(before end: Int, in text: UnsafeBufferPointer<UInt8>) -> Unicode.Scalar? {
    guard end > 0 else { return nil }
    var start = end - 1
    while start > 0, text[start] & 0xC0 == 0x80 { start -= 1 }
    return scalar(at: start, in: text)
  }

  private func scalar(at start: Int, in text: UnsafeBufferPointer<UInt8>) -> Unicode.Scalar? {
    guard start < text.count else { return nil }
    let bytes = text[start..<min(text.count, start + 4)]
    return String(decoding: bytes, as: UTF8.self).unicodeScalars.first
  }
}
