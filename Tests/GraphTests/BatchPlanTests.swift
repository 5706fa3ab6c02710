import Graph
import Testing

@Suite struct BatchPlanTests {
  private static func cost(_ shapes: [Int]) -> Int {
    shapes.reduce(0) { $0 + $1 + BatchPlan.launchRows }
  }

  /// The least cost of any multiset of programs that holds so many tokens.
  private static func least(_ tokens: Int, _ available: [Int]) -> Int {
    guard tokens > 0, let first = available.last else { return tokens > 0 ? .max / 2 : 0 }
    var best = Int.max / 2
    for count in 0...(tokens + first - 1) / first {
      let rest = Self.least(max(0, tokens - count * first), Array(available.dropLast()))
      best = min(best, count * (first + BatchPlan.launchRows) + rest)
    }
    return best
  }

  @Test func theCheapestPlanIsFound() {
    for available in [[1, 64, 512], [1, 16, 64], [1, 8, 20, 64], [7]] {
      for tokens in [1, 2, 7, 15, 63, 64, 65, 100, 143, 200] {
        let plan = BatchPlan(tokens: tokens, available: available, choice: .smallest)
        #expect(plan.shapes.reduce(0, +) >= tokens)
        #expect(Self.cost(plan.shapes) == Self.least(tokens, available), "\(tokens) \(available)")
        #expect(plan.shapes == plan.shapes.sorted(by: >))
        #expect(plan.shapes.dropLast().reduce(0, +) < tokens)
      }
    }
  }

  @Test func fewestTakesTheLargestAndOneForTheRest() {
    func shapes(_ tokens: Int) -> [Int] {
      BatchPlan(tokens: tokens, available: [1, 64, 512], choice: .fewest).shapes
    }
    #expect(shapes(1) == [1])
    #expect(shapes(65) == [512])
    #expect(shapes(512) == [512])
    #expect(shapes(576) == [512, 64])
    #expect(shapes(2000) == [512, 512, 512, 512])
  }

  @Test func longPromptsUseTheLargestProgram() {
    let plan = BatchPlan(tokens: 5000, available: [1, 64, 512], choice: .smallest)
    #expect(plan.shapes.count { $0 == 512 } == 10)
    #expect(plan.shapes.reduce(0, +) >= 5000)
  }
}
