/// Which keys a query of a decoder step sees, as numbers to add to scores.
struct AttentionMask {
  let queryPosition: Int
  let position: Int
  /// Rows of the ring before the step.
  let past: Int
  /// Rows of the step.
  let new: Int
  let window: Int?
  /// Runs of media that see each other, empty where there are none.
  let blocks: [Int32]

  /// What hides a key: far below any score, and within the range of fp16 with a score added.
  static let hidden: Float = -32768

  /// `[queries, past + new]`, row-major.
  func numbers(queries: Int) -> [Float] {
    var result: [Float] = []
    result.reserveCapacity(queries * (past + new))
    for query in 0..<queries {
      let own = queryPosition + query
      for row in 0..<past {
        let latest = latest(row)
        result.append(latest >= 0 && sees(own, latest) ? 0 : Self.hidden)
      }
      for row in 0..<new {
        let isSeen = sees(own, position + row) || sharesBlock(own, row)
        result.append(isSeen && isNear(own, position + row) ? 0 : Self.hidden)
      }
    }
    return result
  }

  /// The position that a row of the ring holds; negative for none.
  private func latest(_ row: Int) -> Int {
    guard position > 0 else { return -1 }
    return position - 1 - (position - 1 - row + past * 2) % past
  }

  private func sees(_ own: Int, _ key: Int) -> Bool { key <= own && isNear(own, key) }

  private func isNear(_ own: Int, _ key: Int) -> Bool { own - key < window ?? Int.max }

  private func sharesBlock(_ own: Int, _ row: Int) -> Bool {
    let index = own - position
    return blocks.indices.contains(index) && blocks[index] > 0 && blocks[index] == blocks[row]
  }
}
