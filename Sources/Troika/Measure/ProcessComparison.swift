import Foundation

/// How one piece of work changed between two runs of several processes each.
///
/// A process has one figure, the logarithm of the median of its samples: where its memory lies and what
/// the machine did meanwhile are in it, so what processes of a run differ by says how sure their mean
/// is (Welch's interval). Figures are taken by the clock and in units of each yardstick. Those count
/// in which processes of the same run are alike: a yardstick that makes them less alike is not like
/// the work. The interval covers the ranges of all that count.
struct ProcessComparison: Hashable {
  /// Processes of a run below which they say nothing about others.
  static let fewest = 3
  /// A measure counts that errs at most this many times as much as the best.
  private static let tolerance = 1.5

  /// The later time over the earlier one, by the measure that errs least.
  let ratio: Double
  /// The lower end of its interval.
  let low: Double
  /// The upper end of its interval.
  let high: Double
  /// Whether no yardstick that counts tells of another machine, nor surely all that there are.
  let isSameMachine: Bool

  /// Compares two runs.
  ///
  /// - Returns: nil where either has too few processes, or samples of no length.
  init?(_ before: PairedSamples, _ after: PairedSamples) {
    let (earlier, later) = (before.byProcess, after.byProcess)
    guard min(earlier.count, later.count) >= Self.fewest,
      (before.nanoseconds + after.nanoseconds).allSatisfy({ $0 > 0 })
    else { return nil }
    let areAlike = before.yardsticks.count == after.yardsticks.count
    let count = areAlike ? before.yardsticks.count : 0
    func figures<Part>(_ parts: [Part], _ pick: (Part) -> [Double]) -> [Double] {
      parts.map { log(SampleSummary(pick($0)).median) }
    }
    let clock = WelchInterval(figures(earlier, \.byClock), figures(later, \.byClock))
    let (own, other) = (earlier.map(\.relative), later.map(\.relative))
    let relative = (0..<count).map { index in
      WelchInterval(figures(own) { $0[index] }, figures(other) { $0[index] })
    }
    let measures = [clock] + relative
    let least = measures.map(\.error).min() ?? 0
    let counting = measures.indices.filter { measures[$0].error <= Self.tolerance * least }
    let best = counting.first { measures[$0].error == least } ?? 0
    ratio = exp(measures[best].difference)
    low = exp(counting.map { measures[$0].low }.min() ?? 0)
    high = exp(counting.map { measures[$0].high }.max() ?? 0)
    let agree = counting.filter { $0 > 0 }.allSatisfy { index in
      SampleComparison.isSameMachine(exp(clock.difference - measures[index].difference))
    }
    let areOthers = (0..<count).map { index in
      let shift = WelchInterval(
        figures(earlier) { $0.yardsticks[index].map(Double.init) },
        figures(later) { $0.yardsticks[index].map(Double.init) }
      )
      return max(shift.low, -shift.high) > log(SampleComparison.machineShift)
    }
    isSameMachine = agree && (areOthers.isEmpty || areOthers.contains(false))
  }
}

/// The range in which the difference of two means lies with 95 % confidence, each side with a spread
/// of its own.
struct WelchInterval: Hashable {
  /// The second mean less the first.
  let difference: Double
  /// The standard error of the difference.
  let error: Double
  /// The lower end.
  let low: Double
  /// The upper end.
  let high: Double

  /// The interval of two samples of two values or more.
  init(_ first: [Double], _ second: [Double]) {
    func variance(_ values: [Double]) -> Double {
      let deviation = SampleSummary(values).deviation
      return deviation * deviation / Double(values.count)
    }
    func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
    let (left, right) = (variance(first), variance(second))
    difference = mean(second) - mean(first)
    error = (left + right).squareRoot()
    let freedom =
      (left + right) * (left + right)
      / (left * left / Double(first.count - 1) + right * right / Double(second.count - 1))
    let reach = error == 0 ? 0 : Self.quantile(freedom) * error
    (low, high) = (difference - reach, difference + reach)
  }

  /// The 97.5 % quantile of Student's distribution: Cornish and Fisher's expansion, which is within
  /// 1 % from three degrees of freedom on and 3 % too small at two.
  static func quantile(_ freedom: Double) -> Double {
    let z = 1.959964
    let (z3, z5, z7) = (z * z * z, pow(z, 5), pow(z, 7))
    return z + (z3 + z) / (4 * freedom)
      + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom)
      + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom)
  }
}
