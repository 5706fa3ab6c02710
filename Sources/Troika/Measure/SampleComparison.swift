/// Samples with what a fixed piece of work took beside each of them.
public struct PairedSamples: Hashable, Sendable {
  /// Nanoseconds, in the order they were taken.
  public let nanoseconds: [Int]
  /// Nanoseconds of the fixed work in the same round; empty where there was none.
  public let yardstick: [Int]

  /// Which samples, by index and rising, other work on the machine has made longer.
  public let disturbed: [Int]

  /// Samples from their parts.
  public init(_ nanoseconds: [Int], yardstick: [Int] = [], disturbed: [Int] = []) {
    self.nanoseconds = nanoseconds
    self.yardstick = yardstick
    self.disturbed = disturbed
  }

  /// The samples that nothing disturbed.
  public var calm: PairedSamples {
    let kept = nanoseconds.indices.filter { !disturbed.contains($0) }
    let isPaired = yardstick.count == nanoseconds.count
    return PairedSamples(
      kept.map { nanoseconds[$0] },
      yardstick: isPaired ? kept.map { yardstick[$0] } : []
    )
  }

  /// The samples by the clock in a few numbers.
  public var summary: SampleSummary { SampleSummary(byClock) }

  /// The samples by the clock.
  var byClock: [Double] { nanoseconds.map(Double.init) }

  /// The samples in units of the yardstick, whose own jitter is smoothed over three rounds.
  var relative: [Double]? {
    guard yardstick.count == nanoseconds.count, yardstick.allSatisfy({ $0 > 0 }) else { return nil }
    return nanoseconds.indices.map { index in
      let near = yardstick[max(0, index - 1)...min(yardstick.count - 1, index + 1)].sorted()
      return Double(nanoseconds[index]) / SampleSummary.quantile(0.5, near.map(Double.init))
    }
  }
}

/// How one piece of work changed from one run to another.
///
/// Only samples count that nothing disturbed, on both sides in the yardstick of their own rounds, so
/// that a machine that was slower as a whole makes nothing slower; without yardsticks the clock counts.
public struct SampleComparison: Hashable, Sendable {
  /// What came out.
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The interval of the ratio holds 1.
    case same
    /// It lies below 1.
    case faster
    /// It lies above 1, and the ratio is within what is tolerated.
    case slightlySlower
    /// It lies above 1, and the ratio is beyond what is tolerated.
    case slower
    /// There are too few samples that nothing disturbed.
    case unknown
  }

  /// The later median over the earlier one.
  public let ratio: Double
  /// The lower end of the ratio's interval.
  public let low: Double
  /// The upper end of the ratio's interval.
  public let high: Double
  private let isKnown: Bool

  /// Compares two runs.
  ///
  /// - Parameters:
  ///   - before: the earlier run.
  ///   - after: the later one.
  ///   - countsDisturbed: whether samples count all the same that other work disturbed.
  public init(_ before: PairedSamples, _ after: PairedSamples, countsDisturbed: Bool = false) {
    let (before, after) = countsDisturbed ? (before, after) : (before.calm, after.calm)
    var (earlier, later) = (before.byClock, after.byClock)
    if let own = before.relative, let other = after.relative { (earlier, later) = (own, other) }
    ratio = SampleSummary(later).median / SampleSummary(earlier).median
    guard let old = MedianInterval(earlier), let new = MedianInterval(later), old.low > 0 else {
      (low, high, isKnown) = (0, .infinity, false)
      return
    }
    (low, high, isKnown) = (new.low / old.high, new.high / old.low, true)
  }

  /// What came out.
  ///
  /// - Parameter threshold: the share of the earlier time that is tolerated on top.
  /// - Returns: the verdict.
  public func verdict(threshold: Double) -> Verdict {
    guard isKnown else { return .unknown }
    if high < 1 { return .faster }
    guard low > 1 else { return .same }
    return ratio > 1 + threshold ? .slower : .slightlySlower
  }
}
