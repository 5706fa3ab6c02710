import Foundation
import TestSupport
import Testing

@testable import Troika

/// Runs of several processes: what they say of a difference, on noise that is made up.
@Suite struct ProcessComparisonTests {
  /// Runs whose processes differ by more than their samples do.
  struct Noise {
    var samples: SampleTests.Noise
    var process: Double

    init(seed: UInt64, process: Double) {
      samples = SampleTests.Noise(numbers: RandomNumbers(seed: seed), jitter: 0.01, drift: 0)
      self.process = process
    }

    /// Five processes of six samples each, of work that takes 1 ms, and a yardstick that each process
    /// measures as wrong as `reading` says.
    mutating func run(factor: Double = 1, reading: Double = 0, machine: Double = 1) -> PairedSamples
    {
      PairedSamples(
        joining: (0..<5).map { _ in
          let (level, other) = (process * samples.normal(), reading * samples.normal())
          let times = (0..<6).map { _ in
            Int(1e6 * factor * machine * exp(level + 0.01 * samples.normal()))
          }
          let yardstick = (0..<6).map { _ in
            Int(4e5 * machine * exp(other + 0.01 * samples.normal()))
          }
          return PairedSamples(times, yardsticks: [yardstick])
        }
      )
    }
  }

  private func share(
    _ verdict: SampleComparison.Verdict,
    process: Double,
    factor: Double,
    reading: Double = 0
  ) -> Double {
    var noise = Noise(seed: 21, process: process)
    let hits = (0..<400).count { _ in
      let before = noise.run(reading: reading)
      let after = noise.run(factor: factor, reading: reading)
      return SampleComparison(before, after).verdict(threshold: 0.05) == verdict
    }
    return Double(hits) / 400
  }

  @Test(arguments: [0.005, 0.02, 0.05, 0.1])
  func whatProcessesDifferByIsNoDifference(_ process: Double) {
    #expect(share(.same, process: process, factor: 1) >= 0.95)
  }

  @Test func aSlowdownOfATenthIsFoundWhereProcessesAreAlike() {
    #expect(share(.slower, process: 0.02, factor: 1.1) >= 0.95)
    #expect(share(.faster, process: 0.02, factor: 1 / 1.1) >= 0.95)
    // Not where they differ by as much: then it is not claimed either.
    #expect(share(.slower, process: 0.1, factor: 1.1) < 0.5)
  }

  @Test func aYardstickThatIsNotLikeTheWorkHidesNothing() {
    #expect(share(.slower, process: 0.02, factor: 1.1, reading: 0.2) >= 0.95)
  }

  @Test func anotherMachineIsNotAnotherProgram() {
    var noise = Noise(seed: 4, process: 0.005)
    let (before, after) = (noise.run(), noise.run(machine: 1.15))
    #expect(SampleComparison(before, after).verdict(threshold: 0.05) == .same)
    let far = SampleComparison(before, noise.run(machine: 1.5))
    #expect(far.verdict(threshold: 0.05) == .unknown && far.high == .infinity)
  }

  @Test func aMachineThatAllYardsticksCallAnotherIsOneWhereNoneCounts() {
    var noise = Noise(seed: 6, process: 0.002)
    // Yardsticks scatter far more than the work: none counts, but each took twice as long.
    let (before, after) = (noise.run(reading: 0.1), noise.run(reading: 0.1, machine: 2))
    #expect(SampleComparison(before, after).verdict(threshold: 0.05) == .unknown)
  }

  @Test func otherYardsticksAreNotHeldAgainstEachOther() {
    var noise = Noise(seed: 12, process: 0.01)
    let run = noise.run()
    let other = PairedSamples(
      run.nanoseconds,
      yardsticks: [run.yardsticks[0].map { $0 * 7 }, run.yardsticks[0]],
      processes: run.processes
    )
    #expect(SampleComparison(run, other).ratio == 1)
    #expect(PairedSamples(joining: [run, other]).yardsticks.isEmpty)
    #expect(PairedSamples([1, 2], yardsticks: [[1, 2], [1, 0]]).yardsticks.isEmpty)
  }

  @Test func processesThatWereDisturbedDoNotCount() {
    var noise = Noise(seed: 8, process: 0.01)
    let (before, after) = (noise.run(), noise.run())
    func disturbed(_ count: Int) -> PairedSamples {
      PairedSamples(
        after.nanoseconds.enumerated().map { $0.offset < count ? $0.element * 3 : $0.element },
        yardsticks: after.yardsticks,
        disturbed: Array(0..<count),
        processes: after.processes
      )
    }
    #expect(disturbed(8).calm.processes == [4, 6, 6, 6])
    #expect(SampleComparison(before, disturbed(8)).verdict(threshold: 0.05) == .same)
    #expect(SampleComparison(before, disturbed(18)).verdict(threshold: 0.05) == .unknown)
  }

  @Test func samplesOfNoLengthAndOneProcessSayNothingOfOthers() {
    var noise = Noise(seed: 2, process: 0.01)
    let run = noise.run()
    let still = PairedSamples([Int](repeating: 0, count: 30), processes: [6, 6, 6, 6, 6])
    #expect(SampleComparison(run, still).verdict(threshold: 0.05) == .unknown)
    #expect(SampleComparison(still, run).verdict(threshold: 0.05) == .unknown)
    let single = PairedSamples(run.nanoseconds, yardsticks: run.yardsticks)
    #expect(single.processes == [30])
    #expect(SampleComparison(single, run).verdict(threshold: 0.05) != .unknown)
    #expect(PairedSamples([1, 2], processes: [1, 2]).processes == [2])
    #expect(PairedSamples([1, 2], processes: [2, 0]).processes == [2])
    #expect(PairedSamples([1, 2], processes: [.max, .max]).processes == [2])
  }

  @Test func theIntervalIsThatOfTheTables() {
    for (freedom, value) in [(3.0, 3.182), (4, 2.776), (8, 2.306), (30, 2.042), (1e6, 1.960)] {
      #expect(abs(WelchInterval.quantile(freedom) / value - 1) < 0.01, "\(freedom)")
    }
    let interval = WelchInterval([1, 2, 3, 4], [3, 5, 7, 9])
    #expect(interval.difference == 3.5)
    #expect(abs(interval.error - 1.443_375_673) < 1e-8)
    // 4.41 degrees of freedom: 2.6772 by the incomplete beta function.
    #expect(abs((interval.high - 3.5) / 1.443_375_673 / 2.6772 - 1) < 0.01)
  }

  @Test func aReportOfSeveralProcessesIsTheirMediansAndAllTheirSamples() throws {
    func report(_ first: Int, _ samples: [Int], rate: Double) -> BenchReport {
      var row = BenchReport.Row(
        stage: "head",
        unit: .cpu,
        samples: PairedSamples(samples, yardsticks: [samples.map { $0 * 2 }], disturbed: [1])
      )
      (row.firstNanoseconds, row.busyNanoseconds) = (first, first / 10)
      return BenchReport(
        machine: MachineFacts(
          processor: "p",
          processors: 1,
          threads: 1,
          memoryByteCount: 1,
          governor: "g",
          kernels: "k",
          vulkan: nil,
          troika: "t",
          compiler: "c"
        ),
        model: "m",
        shapes: "s",
        suite: "standard",
        limits: [UnitLimit(unit: .cpu, flopsPerSecond: rate, bytesPerSecond: 10 - rate)],
        rows: [row],
        shares: [.init(name: "steady", nanoseconds: 30)],
        wallNanoseconds: 40
      )
    }
    let whole = BenchReport(
      joining: [
        report(10, [5, 6], rate: 1), report(30, [7, 8, 9], rate: 3), report(20, [4, 4], rate: 2),
      ],
      wallNanoseconds: 150
    )
    let row = try #require(whole.rows.first)
    #expect(row.samples.nanoseconds == [5, 6, 7, 8, 9, 4, 4])
    #expect(row.samples.yardsticks == [[10, 12, 14, 16, 18, 8, 8]])
    #expect(row.samples.processes == [2, 3, 2] && row.samples.disturbed == [1, 3, 6])
    #expect(row.firstNanoseconds == 20 && row.busyNanoseconds == 2)
    #expect(row.buildNanoseconds == nil)
    #expect(whole.limits.map(\.flopsPerSecond) == [3] && whole.limits[0].bytesPerSecond == 9)
    // 3 x 30 within the processes, 3 x 10 unexplained there, 30 around them.
    #expect(whole.shares.map(\.nanoseconds) == [90, 30] && whole.residualNanoseconds == 30)
  }
}
