/// Where a number is known from.
public enum Provenance: String, Hashable, Sendable, CaseIterable {
  /// Measured on the machine the profile is of, by this program.
  case measured
  /// Published by someone who measured it.
  case published
  /// Computed from published or measured numbers.
  case derived
  /// Taken from similar hardware, or a guess.
  case assumed
}

/// A number of a device profile with its range and where it is known from.
public struct Figure: Hashable, Sendable {
  /// The most likely value.
  public var value: Double
  /// The lowest it may be.
  public var low: Double
  /// The highest it may be.
  public var high: Double
  /// How it is known.
  public var provenance: Provenance
  /// Where from, in words.
  public var source: String

  /// A figure from its parts; a range that does not hold the value is widened to it.
  public init(
    _ value: Double,
    low: Double? = nil,
    high: Double? = nil,
    _ provenance: Provenance,
    source: String
  ) {
    self.value = value
    self.low = min(low ?? value, value)
    self.high = max(high ?? value, value)
    self.provenance = provenance
    self.source = source
  }
}

/// A prediction with its range.
public struct Estimate: Hashable, Sendable {
  /// The most likely value.
  public var value: Double
  /// The lowest that is expected.
  public var low: Double
  /// The highest that is expected.
  public var high: Double

  /// A prediction from its parts.
  public init(_ value: Double, low: Double, high: Double) {
    self.value = value
    self.low = low
    self.high = high
  }

  /// Both, one after the other; what they depend on may err in the same direction.
  public static func + (left: Estimate, right: Estimate) -> Estimate {
    Estimate(left.value + right.value, low: left.low + right.low, high: left.high + right.high)
  }

  /// So many of one.
  public static func * (left: Estimate, right: Double) -> Estimate {
    Estimate(left.value * right, low: left.low * right, high: left.high * right)
  }

  /// Nothing.
  public static let zero = Estimate(0, low: 0, high: 0)

  /// Whether the ranges of two predictions share anything: then nobody can tell which is larger.
  public func overlaps(_ other: Estimate) -> Bool { low <= other.high && other.low <= high }
}
