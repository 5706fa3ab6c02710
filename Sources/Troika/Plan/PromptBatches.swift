import Graph
import Models

/// How the positions of a prompt are dealt out to batches.
enum PromptBatches {
  /// Rows that are worth a batch of their own.
  static let leastRows = 32
  /// How many times as many rows a prompt may cost for batches that end before media.
  static let mostForCuts = 1.25

  /// Stretches of positions whose ends batches keep.
  ///
  /// - Parameters:
  ///   - range: the positions, in full.
  ///   - cuts: rising positions at which a batch should begin; one is passed over where the stretch
  ///     before it would have fewer than `leastRows` rows.
  static func stretches(of range: Range<Int>, cuts: [Int]) -> [Range<Int>] {
    var stretches: [Range<Int>] = []
    var start = range.lowerBound
    for cut in cuts where cut - start >= leastRows && cut < range.upperBound {
      stretches.append(start..<cut)
      start = cut
    }
    return stretches + [start..<range.upperBound]
  }

  /// Lengths of the batches of a stretch in programs that take any number of rows.
  static func lengths(of count: Int, batch: Int) -> [Int] {
    stride(from: 0, to: count, by: batch).map { min(batch, count - $0) }
  }

  /// Real rows of the batches of a stretch in programs of these numbers of rows.
  static func lengths(of count: Int, shapes: [Int]) -> [Int] {
    var left = count
    return shapes.map { shape in
      defer { left -= min(shape, left) }
      return min(shape, left)
    }
  }

  /// Whether batches that end before media cost little more than those that do not: rows, padding
  /// included, and `BatchPlan.launchRows` for each launch.
  static func isWorth(cut: [Int], whole: [Int]) -> Bool {
    func rows(_ shapes: [Int]) -> Int { shapes.reduce(0) { $0 + $1 + BatchPlan.launchRows } }
    return Double(rows(cut)) <= Double(rows(whole)) * mostForCuts
  }
}

extension DecoderSession {
  /// The batches of a prompt's positions.
  ///
  /// - Parameters:
  ///   - rows: the prompt.
  ///   - start: the first position to run.
  ///   - cuts: positions at which a batch should begin, as far as that costs little.
  func batches(of rows: PromptRows, from start: Int, cuts: [Int]) -> [Range<Int>] {
    let whole = batches(of: rows, in: [start..<rows.count])
    let stretches = PromptBatches.stretches(of: start..<rows.count, cuts: cuts)
    guard stretches.count > 1 else { return whole }
    let cut = batches(of: rows, in: stretches)
    func shapes(_ batches: [Range<Int>]) -> [Int] { batches.map { compiledTokens($0.count) } }
    return PromptBatches.isWorth(cut: shapes(cut), whole: shapes(whole)) ? cut : whole
  }

  private func batches(of rows: PromptRows, in stretches: [Range<Int>]) -> [Range<Int>] {
    stretches.flatMap { stretch -> [Range<Int>] in
      if text.configuration.seesWholeMedia { return wholeMediaBatches(of: rows, in: stretch) }
      let lengths =
        fixedShapes.isEmpty
        ? PromptBatches.lengths(of: stretch.count, batch: batch)
        : PromptBatches.lengths(
          of: stretch.count,
          shapes: BatchPlan(tokens: stretch.count, available: fixedShapes, choice: batches).shapes
        )
      var start = stretch.lowerBound
      return lengths.map { length in
        defer { start += length }
        return start..<start + length
      }
    }
  }

  /// Batches that end inside no medium.
  private func wholeMediaBatches(of rows: PromptRows, in stretch: Range<Int>) -> [Range<Int>] {
    var batches: [Range<Int>] = []
    var start = stretch.lowerBound
    while start < stretch.upperBound {
      let limit = min(batch, stretch.upperBound - start)
      let end = rows.batchEnd(from: start, limit: limit, keepsMediaWhole: true)
      batches.append(start..<end)
      start = end
    }
    return batches
  }
}
