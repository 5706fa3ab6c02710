/// What a list of samples says in a few numbers.
public struct SampleSummary: Hashable, Sendable {
  /// How many samples.
  public let count: Int
  /// Half of the samples are smaller.
  public let median: Double
  /// A tenth of the samples is smaller.
  public let p10: Double
  /// Nine tenths of the samples are smaller.
  public let p90: Double
  /// All but a hundredth of the samples are smaller.
  public let p99: Double
  /// The standard deviation, as an estimate for what the samples are drawn from; 0 for one.
  public let deviation: Double

  /// A summary; all zeros where there is no sample.
  ///
  /// - Complexity: that of sorting.
  public init(_ samples: [Double]) {
    let sorted = samples.sorted()
    count = sorted.count
    median = Self.quantile(0.5, sorted)
    p10 = Self.quantile(0.1, sorted)
    p90 = Self.quantile(0.9, sorted)
    p99 = Self.quantile(0.99, sorted)
    let mean = sorted.reduce(0, +) / Double(max(count, 1))
    let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    deviation = (squares / Double(max(count - 1, 1))).squareRoot()
  }

  /// The value below which a share of sorted samples lies, interpolated between neighbours.
  static func quantile(_ share: Double, _ sorted: [Double]) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let below = Int(place)
    guard below + 1 < sorted.count else { return last }
    return sorted[below] + (place - Double(below)) * (sorted[below + 1] - sorted[below])
  }
}

/// The range in which the median lies that samples are drawn around, with 95 % confidence.
///
/// It runs from one order statistic to another, so it needs no distribution and bears outliers. Where
/// neighbours in time resemble each other, as under drift, fewer samples count: as many as have the
/// same spread without the resemblance.
public struct MedianInterval: Hashable, Sendable {
  /// The lower end.
  public let low: Double
  /// The upper end.
  public let high: Double

  /// Samples below which there is no interval of this confidence.
  public static let fewest = 6

  /// The interval of samples in the order they were taken; nil where there are too few.
  public init?(_ samples: [Double]) {
    let count = samples.count
    guard count >= Self.fewest else { return nil }
    let order = samples.indices.sorted { samples[$0] < samples[$1] }
    var ranks = [Double](repeating: 0, count: count)
    for (rank, index) in order.enumerated() { ranks[index] = Double(rank) - Double(count - 1) / 2 }
    let squares = ranks.reduce(0) { $0 + $1 * $1 }
    let products = zip(ranks, ranks.dropFirst()).reduce(0) { $0 + $1.0 * $1.1 }
    // Beyond 0.8 the interval is all there is.
    let likeness = min(max(products / squares, 0), 0.8)
    let effective = (Double(count) * (1 + likeness) / (1 - likeness)).squareRoot()
    let reach = 1.96 * effective / 2 + 0.5
    let middle = Double(count - 1) / 2
    low = samples[order[max(0, Int((middle - reach).rounded(.down)))]]
    high = samples[order[min(count - 1, Int((middle + reach).rounded(.up)))]]
  }
}
