import Foundation
import TestSupport
import Testing

@testable import Troika

/// Numbers of samples: what they say and how often they are wrong, on noise that is made up.
@Suite struct SampleTests {
  /// Noise as machines have it: drift that all work feels, jitter of each sample, rare long ones.
  struct Noise {
    var numbers: RandomNumbers
    var jitter: Double
    var drift: Double

    mutating func normal() -> Double {
      let (first, second) = (uniform(), uniform())
      return (-2 * log(first)).squareRoot() * cos(2 * .pi * second)
    }

    mutating func uniform() -> Double { Double.random(in: 1e-12..<1, using: &numbers) }

    /// Samples of work that takes a millisecond, and of a yardstick in the same rounds.
    mutating func run(_ count: Int, factor: Double = 1) -> PairedSamples {
      let memory = 0.9
      var level = normal() * drift
      var (samples, yardstick): ([Int], [Int]) = ([], [])
      for _ in 0..<count {
        level = memory * level + normal() * drift * (1 - memory * memory).squareRoot()
        samples.append(Int(1e6 * factor * sample(level, jitter)))
        yardstick.append(Int(4e5 * sample(level, jitter * 0.7)))
      }
      return PairedSamples(samples, yardsticks: [yardstick])
    }

    private mutating func sample(_ level: Double, _ jitter: Double) -> Double {
      let long = uniform() < 0.05 ? 1 - 0.3 * log(uniform()) : 1
      return exp(level + jitter * normal()) * long
    }
  }

  static let noises: [(jitter: Double, drift: Double)] = [
    (0.02, 0), (0.02, 0.02), (0.03, 0.03), (0.02, 0.06),
  ]

  /// The share of pairs of runs with a verdict.
  private func share(
    _ noise: (jitter: Double, drift: Double),
    samples: Int,
    factor: Double = 1,
    yardsticks: Bool = true,
    _ isCounted: (SampleComparison.Verdict) -> Bool
  ) -> Double {
    var noise = Noise(numbers: RandomNumbers(seed: 7), jitter: noise.jitter, drift: noise.drift)
    let pairs = 400
    let hits = (0..<pairs).count { _ in
      let (before, after) = (noise.run(samples), noise.run(samples, factor: factor))
      let comparison =
        yardsticks
        ? SampleComparison(before, after)
        : SampleComparison(PairedSamples(before.nanoseconds), PairedSamples(after.nanoseconds))
      return isCounted(comparison.verdict(threshold: 0.05))
    }
    return Double(hits) / Double(pairs)
  }

  @Test func aSummaryIsWhatOneCountsByHand() {
    let summary = SampleSummary((0...100).map(Double.init).shuffled())
    #expect(summary.count == 101 && summary.median == 50)
    #expect(summary.p10 == 10 && summary.p90 == 90 && summary.p99 == 99)
    #expect(abs(summary.deviation - 29.300_170_647_967_22) < 1e-9)
    #expect(SampleSummary([1, 2]).median == 1.5 && SampleSummary([7]).deviation == 0)
    #expect(SampleSummary([]).p99 == 0)
  }

  @Test func theIntervalHoldsTheMedianAsOftenAsItSays() throws {
    var noise = Noise(numbers: RandomNumbers(seed: 3), jitter: 0.05, drift: 0)
    for count in [MedianInterval.fewest, 12, 30] {
      let held = try (0..<1000).count { _ in
        let interval = try #require(MedianInterval((0..<count).map { _ in noise.normal() }))
        return interval.low <= 0 && interval.high >= 0
      }
      #expect(held >= 950, "\(count): \(held)")
    }
    #expect(MedianInterval([1, 2, 3, 4, 5]) == nil)
  }

  @Test func likenessInTimeWidensTheInterval() throws {
    let values = (0..<30).map(Double.init)
    let rising = try #require(MedianInterval(values))
    let mixed = try #require(
      MedianInterval(values.map { ($0 * 7).truncatingRemainder(dividingBy: 30) })
    )
    #expect(rising.low < mixed.low && rising.high > mixed.high)
  }

  @Test(arguments: noises)
  func twoRunsOfTheSameThingAreNotDifferent(_ noise: (jitter: Double, drift: Double)) {
    for samples in [10, 20, 30] {
      let wrong = share(noise, samples: samples) { $0 != .same }
      #expect(wrong <= 0.05, "\(samples) samples: \(wrong)")
    }
  }

  @Test(arguments: noises)
  func aSlowdownOfATenthIsFound(_ noise: (jitter: Double, drift: Double)) {
    #expect(share(noise, samples: 30, factor: 1.1) { $0 == .slower } >= 0.95)
    #expect(share(noise, samples: 20, factor: 1.1) { $0 == .slower } >= 0.85)
    #expect(share(noise, samples: 30, factor: 1 / 1.1) { $0 == .faster } >= 0.95)
  }

  @Test func withoutAYardstickDriftIsTakenForTheWork() {
    let drifting = (jitter: 0.02, drift: 0.06)
    let alone = share(drifting, samples: 30, yardsticks: false) { $0 != .same }
    #expect(alone > share(drifting, samples: 30) { $0 != .same })
    #expect(share((0.02, 0), samples: 30, yardsticks: false) { $0 != .same } <= 0.05)
  }

  @Test func aWholeMachineThatIsSlowerMakesNothingSlower() {
    var noise = Noise(numbers: RandomNumbers(seed: 5), jitter: 0.02, drift: 0)
    let (before, after) = (noise.run(30), noise.run(30))
    let slow = PairedSamples(
      after.nanoseconds.map { $0 * 6 / 5 },
      yardsticks: after.yardsticks.map { $0.map { $0 * 6 / 5 } }
    )
    #expect(SampleComparison(before, slow).verdict(threshold: 0.05) == .same)
    let clock = SampleComparison(before, PairedSamples(slow.nanoseconds))
    #expect(clock.verdict(threshold: 0.05) == .slower)
  }

  @Test func whatOneYardstickExplainsIsNoDifference() {
    var noise = Noise(numbers: RandomNumbers(seed: 11), jitter: 0.02, drift: 0)
    let (before, after) = (noise.run(30), noise.run(30))
    let (steady, fast) = (after.yardsticks[0], after.yardsticks[0].map { $0 * 5 / 6 })
    func verdict(_ factor: Double, _ yardsticks: [[Int]]) -> SampleComparison.Verdict {
      let later = PairedSamples(
        after.nanoseconds.map { Int(Double($0) * factor) },
        yardsticks: yardsticks
      )
      let earlier = PairedSamples(
        before.nanoseconds,
        yardsticks: [before.yardsticks[0], before.yardsticks[0]]
      )
      return SampleComparison(earlier, later).verdict(threshold: 0.05)
    }
    // Memory is faster now: less so for work that also computes than for reading alone.
    #expect(verdict(0.92, [fast, steady]) == .same)
    let another = after.yardsticks[0].map { $0 * 2 / 3 }
    #expect(verdict(0.8, [another, steady]) == .unknown)
    #expect(verdict(1.1, [steady, steady]) == .slower)
    #expect(verdict(1.1, [fast, steady]) == .slower)
  }

  @Test func whatOtherWorkDisturbsDoesNotCount() {
    var noise = Noise(numbers: RandomNumbers(seed: 9), jitter: 0.02, drift: 0)
    let (before, after) = (noise.run(30), noise.run(30))
    let busy = Array(4..<22)
    let longer = after.nanoseconds.indices.map {
      after.nanoseconds[$0] * (busy.contains($0) ? 2 : 1)
    }
    let marked = PairedSamples(longer, yardsticks: after.yardsticks, disturbed: busy)
    #expect(SampleComparison(before, marked).verdict(threshold: 0.05) == .same)
    let blind = PairedSamples(longer, yardsticks: after.yardsticks)
    #expect(SampleComparison(before, blind).ratio > 1.5)
    #expect(SampleComparison(before, marked, countsDisturbed: true).ratio > 1.5)
    let all = PairedSamples(longer, yardsticks: after.yardsticks, disturbed: Array(0..<25))
    #expect(SampleComparison(before, all).verdict(threshold: 0.05) == .unknown)
  }

  @Test func roundsAreDisturbedByWhatOthersTakeAroundThem() {
    var marks = RoundMarks(time: 0, others: 0)
    // Rounds of 100 ms; in the tenth another process has a processor.
    for round in 1...20 {
      marks.append(time: round * 100_000_000, others: round < 10 ? 0 : 100_000_000)
    }
    #expect((0..<20).filter { marks.isDisturbed($0) } == [8, 9, 10])
    var long = RoundMarks(time: 0, others: 0)
    long.append(time: 1_000_000_000, others: 90_000_000)
    long.append(time: 2_000_000_000, others: 300_000_000)
    #expect(!long.isDisturbed(0) && long.isDisturbed(1))
  }

  @Test func manyShortRoundsAreNotDisturbedByOneStepOfTheSystem() {
    var marks = RoundMarks(time: 0, others: 0)
    // Six rounds of 10 ms, in the third the system counts 20 ms for somebody else.
    for round in 1...6 {
      marks.append(time: round * 10_000_000, others: round < 3 ? 0 : 20_000_000)
    }
    #expect(!(0..<6).contains { marks.isDisturbed($0) })
  }

  @Test func theThresholdPartsSlowerFromSlightlySlower() {
    func constant(_ value: Int) -> PairedSamples {
      PairedSamples([Int](repeating: value, count: 6))
    }
    let (before, slower) = (constant(100), constant(104))
    #expect(SampleComparison(before, slower).verdict(threshold: 0.05) == .slightlySlower)
    #expect(SampleComparison(before, slower).verdict(threshold: 0.035) == .slower)
    #expect(SampleComparison(slower, before).verdict(threshold: 0.02) == .faster)
    #expect(SampleComparison(before, constant(102)).verdict(threshold: 0) == .same)
    for other in [PairedSamples([100]), constant(0), PairedSamples([0, 0, 0, 0, 5, 5])] {
      #expect(SampleComparison(before, other).verdict(threshold: 0) == .unknown)
      #expect(SampleComparison(other, before).verdict(threshold: 0) == .unknown)
    }
  }
}
