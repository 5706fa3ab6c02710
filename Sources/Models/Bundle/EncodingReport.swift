/// What storing numbers in another format did to them.
public struct EncodingReport: Hashable, Sendable {
  /// Numbers stored.
  public var count = 0
  /// Bytes they take.
  public var byteCount = 0
  /// Sum of squares of the numbers.
  public var signal = 0.0
  /// Sum of squares of the differences.
  public var noise = 0.0
  /// Largest difference.
  public var largest: Float = 0
  /// Numbers that are not finite, or not in the stored format.
  public var unstorable = 0
  /// Palettes chosen by k-means.
  public var clustered = 0
  /// Palettes of evenly spaced numbers.
  public var uniform = 0

  /// A report about nothing.
  public init() {}

  /// Root mean square of the differences over that of the numbers.
  public var relativeError: Double { signal > 0 ? (noise / signal).squareRoot() : 0 }

  /// Bits a number takes, tables and scales included.
  public var bitsPerWeight: Double { count > 0 ? Double(byteCount) * 8 / Double(count) : 0 }

  /// Both reports as one.
  public static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.count += right.count
    sum.byteCount += right.byteCount
    sum.signal += right.signal
    sum.noise += right.noise
    sum.largest = max(left.largest, right.largest)
    sum.unstorable += right.unstorable
    sum.clustered += right.clustered
    sum.uniform += right.uniform
    return sum
  }

  /// Notes one number and what became of it.
  @inline(__always)
  mutating func add(_ value: Float, stored: Float) {
    let difference = value - stored
    signal += Double(value) * Double(value)
    noise += Double(difference) * Double(difference)
    largest = max(largest, abs(difference))
  }
}
