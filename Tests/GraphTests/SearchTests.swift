import Graph
import TestSupport
import Testing

/// Branch and bound against looking at everything.
@Suite struct SearchTests {
  @Test func theSearchEqualsBruteForce() throws {
    var random = RandomNumbers(seed: 9)
    for _ in 0..<3000 {
      let counts = (0..<Int.random(in: 1...5, using: &random)).map { _ in
        Int.random(in: 1...4, using: &random)
      }
      let costs = counts.map { count in
        (0..<count).map { _ in Double(Int.random(in: 0...20, using: &random)) }
      }
      let links = counts.map { _ in Double(Int.random(in: 0...5, using: &random)) }
      let forbidden = Int.random(in: 0...3, using: &random)
      func value(_ choices: [Int]) -> Double? {
        guard choices.reduce(0, +) % 7 != forbidden || choices.count < 3 else { return nil }
        var sum = 0.0
        for (index, choice) in choices.enumerated() {
          sum += costs[index][choice]
          if index > 0, choice != choices[index - 1] { sum += links[index] }
        }
        return sum
      }
      func bound(_ beginning: [Int]) -> Double {
        costs.indices.reduce(0) { sum, index in
          sum + (index < beginning.count ? costs[index][beginning[index]] : costs[index].min() ?? 0)
        }
      }
      let found = try ExactSearch(counts: counts, bound: bound, value: value).run()
      let all = Self.combinations(counts).compactMap(value).sorted()
      #expect(found.best?.value == all.first)
      #expect(found.second?.value == all.dropFirst().first)
      if let best = found.best { #expect(value(best.choices) == best.value) }
    }
  }

  private static func combinations(_ counts: [Int]) -> [[Int]] {
    counts.reduce([[]]) { known, count in
      known.flatMap { beginning in (0..<count).map { beginning + [$0] } }
    }
  }

  @Test func boundsRuleOutWhatCannotWin() throws {
    let costs = (0..<10).map { _ in [1.0, 50, 60] }
    let search = ExactSearch(
      counts: costs.map(\.count),
      bound: { beginning in
        costs.indices.reduce(0) { sum, index in
          sum + (index < beginning.count ? costs[index][beginning[index]] : 1)
        }
      },
      value: { choices in choices.enumerated().reduce(0) { $0 + costs[$1.offset][$1.element] } }
    )
    let found = try search.run()
    #expect(found.best?.value == 10)
    #expect(found.second?.value == 59)
    #expect(found.valued < 200)
  }

  @Test func nothingAllowedIsNoAnswer() throws {
    #expect(try ExactSearch(counts: [2, 2], value: { _ in nil }).run().best == nil)
    #expect(try ExactSearch(counts: [2, 0], value: { _ in 1 }).run().best == nil)
  }
}
