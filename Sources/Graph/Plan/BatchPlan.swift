/// How a prompt is dealt out to programs of fixed token counts.
public enum BatchChoice: String, Hashable, Sendable, CaseIterable {
  /// As few rows as possible, padding included, a launch weighing as much as some of them.
  case smallest
  /// As few launches as possible: the last program is the smallest that holds the rest.
  case fewest
}

/// The token counts of the programs that a prompt goes through, largest first.
public struct BatchPlan: Hashable, Sendable {
  /// Rows that cost as much as the launch of a program, which reads its weights once more.
  public static let launchRows = 16

  /// Token counts in the order of their launches; all but the last are full.
  public let shapes: [Int]

  private init(shapes: [Int]) { self.shapes = shapes }

  /// A plan for some tokens.
  ///
  /// - Parameters:
  ///   - tokens: how many, above 0.
  ///   - available: token counts there are programs for, rising.
  ///   - choice: what counts.
  /// - Complexity: linear in the tokens that the largest program leaves over.
  public init(tokens: Int, available: [Int], choice: BatchChoice) {
    guard let largest = available.last, tokens > 0 else {
      self.init(shapes: [])
      return
    }
    guard choice == .smallest else {
      let full = (tokens - 1) / largest
      let rest = tokens - full * largest
      let last = available.first { $0 >= rest } ?? largest
      self.init(shapes: [Int](repeating: largest, count: full) + [last])
      return
    }
    self.init(tokens: tokens, available: available) { shape, _ in Double(shape + Self.launchRows) }
  }

  /// The plan that costs least.
  ///
  /// - Parameters:
  ///   - tokens: how many, above 0.
  ///   - available: token counts there are programs for, rising.
  ///   - cost: of a launch of a program of some tokens, of which so many are real.
  /// - Complexity: linear in the tokens that the largest program leaves over.
  public init(tokens: Int, available: [Int], cost: (_ shape: Int, _ real: Int) -> Double) {
    guard let largest = available.last, tokens > 0 else {
      shapes = []
      return
    }
    // Beyond two of the largest only the largest pays.
    let full = max(0, tokens / largest - 1)
    let rest = tokens - full * largest
    var best: [(cost: Double, shape: Int)] = [(0, 0)]
    for count in stride(from: 1, through: rest, by: 1) {
      var least = (cost: Double.infinity, shape: largest)
      // Of equal costs the larger program goes first.
      for shape in available.reversed() {
        let sum = cost(shape, min(shape, count)) + best[max(0, count - shape)].cost
        if sum < least.cost { least = (sum, shape) }
      }
      best.append(least)
    }
    var chosen: [Int] = []
    var left = rest
    while left > 0 {
      chosen.append(best[left].shape)
      left -= best[left].shape
    }
    shapes = [Int](repeating: largest, count: full) + chosen.sorted(by: >)
  }
}
