/// Finds the best and the second best of all combinations of choices.
///
/// Branch and bound: combinations that cannot beat the second best are not looked at, so that the
/// result is that of looking at all of them.
public struct ExactSearch {
  /// A combination and its value.
  public struct Answer: Hashable, Sendable {
    /// The choice of each variable.
    public let choices: [Int]
    /// Its value; less is better.
    public let value: Double
  }

  /// What was found.
  public struct Result: Hashable, Sendable {
    /// The best, of equal values the first in the order of choices; nil where nothing is allowed.
    public var best: Answer?
    /// The best of all others.
    public var second: Answer?
    /// Combinations that were valued.
    public var valued = 0
    /// Partial combinations whose bound ruled out all that begin with them.
    public var ruledOut = 0

    /// Nothing.
    public init() {}
  }

  /// Choices of each variable.
  public let counts: [Int]
  /// What no combination that begins so can beat.
  public let bound: (_ beginning: [Int]) -> Double
  /// The value of a whole combination; nil where it is not allowed.
  public let value: (_ choices: [Int]) throws -> Double?

  /// A search from its parts.
  public init(
    counts: [Int],
    bound: @escaping (_ beginning: [Int]) -> Double = { _ in -.infinity },
    value: @escaping (_ choices: [Int]) throws -> Double?
  ) {
    self.counts = counts
    self.bound = bound
    self.value = value
  }

  /// Runs the search.
  ///
  /// - Throws: what valuing throws.
  public func run() throws -> Result {
    var result = Result()
    guard counts.allSatisfy({ $0 > 0 }) else { return result }
    var choices: [Int] = []
    try descend(&choices, &result)
    return result
  }

  private func descend(_ choices: inout [Int], _ result: inout Result) throws {
    guard choices.count < counts.count else {
      result.valued += 1
      guard let value = try value(choices) else { return }
      let answer = Answer(choices: choices, value: value)
      if value < result.best?.value ?? .infinity {
        (result.best, result.second) = (answer, result.best)
      } else if value < result.second?.value ?? .infinity {
        result.second = answer
      }
      return
    }
    for choice in 0..<counts[choices.count] {
      choices.append(choice)
      if let second = result.second, bound(choices) >= second.value {
        result.ruledOut += 1
      } else {
        try descend(&choices, &result)
      }
      choices.removeLast()
    }
  }
}
