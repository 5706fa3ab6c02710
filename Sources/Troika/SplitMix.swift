import Foundation

/// Random numbers that are the same everywhere for a seed.
public struct SplitMix: Sendable {
  private var state: UInt64

  /// The numbers of a seed.
  public init(seed: some BinaryInteger) { state = UInt64(truncatingIfNeeded: seed) }

  /// The next 64 bits.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// A whole number from 0 to below a limit.
  ///
  /// - Precondition: the limit is above 0.
  public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// Elements in random order.
  public mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
    var result = elements
    for index in stride(from: result.count - 1, to: 0, by: -1) {
      result.swapAt(index, below(index + 1))
    }
    return result
  }

  /// From 0 to 1.
  mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

  /// Normal with a spread of 1.
  mutating func normal() -> Double {
    (-2 * log(max(unit(), 1e-300))).squareRoot() * cos(2 * .pi * unit())
  }
}
