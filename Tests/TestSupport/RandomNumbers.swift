/// Numbers from a seed, the same on every machine.
public struct RandomNumbers: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// A sequence that a seed determines.
  public init(seed: UInt64) { state = seed }

  /// The next 64 bits (SplitMix64).
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Numbers in -1…1.
  public mutating func floats(_ count: Int) -> [Float] {
    (0..<count).map { _ in Float.random(in: -1...1, using: &self) }
  }
}
