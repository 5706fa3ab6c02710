import Foundation

/// How one piece of work changed from one run to another.
///
/// Only samples count that nothing disturbed. Where both sides ran in several processes, what these
/// differ by says how sure the ratio is (`ProcessComparison`). Otherwise samples count in the
/// yardsticks of their own rounds, so that a machine that was slower as a whole makes nothing slower;
/// without yardsticks the clock counts. The interval is as wide as those of all yardsticks together:
/// what a faster memory does to reading alone, it does not do to work that also computes, and neither
/// yardstick alone tells the two apart.
public struct SampleComparison: Hashable, Sendable {
  /// What came out.
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The interval of the ratio holds 1, or the ratio is as near to it as processes differ anyway.
    case same
    /// It lies below 1.
    case faster
    /// It lies above 1, and the ratio is within what is tolerated.
    case slightlySlower
    /// It lies above 1, and the ratio is beyond what is tolerated.
    case slower
    /// There are too few samples that nothing disturbed, or the machine was another: fixed work that
    /// is like the work took a quarter longer or shorter.
    case unknown
  }

  /// By how much the same work differs between processes, as a share: where its memory lies.
  public static let processSpread = 0.03

  /// The factor between yardsticks up to which the machine counts as the same.
  public static let machineShift = 1.25

  /// Whether a yardstick that takes this many times as long is of the same machine.
  static func isSameMachine(_ shift: Double) -> Bool {
    (1 / machineShift...machineShift) ~= shift
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
    let isRepeated = min(before.processes.count, after.processes.count) >= ProcessComparison.fewest
    let (before, after) = countsDisturbed ? (before, after) : (before.calm, after.calm)
    guard !isRepeated else {
      let comparison = ProcessComparison(before, after)
      ratio = comparison?.ratio ?? after.summary.median / before.summary.median
      isKnown = comparison?.isSameMachine ?? false
      low = isKnown ? comparison?.low ?? 0 : 0
      high = isKnown ? comparison?.high ?? .infinity : .infinity
      return
    }
    let areAlike = before.yardsticks.count == after.yardsticks.count
    let yardsticks = areAlike ? Array(zip(before.yardsticks, after.yardsticks)) : []
    var sides = areAlike ? Array(zip(before.relative, after.relative)) : []
    if sides.isEmpty { sides = [(before.byClock, after.byClock)] }
    ratio = SampleSummary(sides[0].1).median / SampleSummary(sides[0].0).median
    let intervals = sides.compactMap { Self.interval($0, $1) }
    let shifts = yardsticks.map { earlier, later in
      SampleSummary(later.map(Double.init)).median / SampleSummary(earlier.map(Double.init)).median
    }
    let isComparable = shifts.allSatisfy(Self.isSameMachine)
    isKnown = intervals.count == sides.count && isComparable
    low = isKnown ? intervals.map(\.lowerBound).min() ?? 0 : 0
    high = isKnown ? intervals.map(\.upperBound).max() ?? .infinity : .infinity
  }

  /// The range in which the ratio of the medians lies with 95 % confidence; nil where samples are few.
  ///
  /// Both sides err on their own: logarithms of their errors add up as squares.
  private static func interval(_ earlier: [Double], _ later: [Double]) -> ClosedRange<Double>? {
    guard let old = MedianInterval(earlier), let new = MedianInterval(later),
      min(old.low, new.low) > 0
    else { return nil }
    let (before, after) = (SampleSummary(earlier).median, SampleSummary(later).median)
    func reach(_ one: Double, _ other: Double) -> Double {
      let (one, other) = (log(one), log(other))
      return exp((one * one + other * other).squareRoot())
    }
    let ratio = after / before
    return ratio / reach(after / new.low, old.high / before)...ratio
      * reach(new.high / after, before / old.low)
  }

  /// What came out.
  ///
  /// - Parameter threshold: the share of the earlier time that is tolerated on top.
  /// - Returns: the verdict.
  public func verdict(threshold: Double) -> Verdict {
    guard isKnown else { return .unknown }
    guard abs(ratio - 1) > Self.processSpread else { return .same }
    if high < 1 { return .faster }
    guard low > 1 else { return .same }
    return ratio > 1 + threshold ? .slower : .slightlySlower
  }
}
