/// The SHA-256 digest of bytes (FIPS 180-4).
public struct SHA256 {
  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
    0x5be0_cd19,
  ]
  private var schedule = [UInt32](repeating: 0, count: 64)

  /// The digest as 64 lower-case hexadecimal digits.
  public static func hex(_ bytes: UnsafeRawBufferPointer) -> String {
    var hash = SHA256()
    let whole = bytes.count / 64 * 64
    for start in stride(from: 0, to: whole, by: 64) {
      hash.absorb(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 64]))
    }
    var tail = Array(bytes[whole...]) + [0x80]
    while tail.count % 64 != 56 { tail.append(0) }
    let bits = UInt64(bytes.count) * 8
    tail += (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) }
    tail.withUnsafeBytes { padded in
      for start in stride(from: 0, to: padded.count, by: 64) {
        hash.absorb(UnsafeRawBufferPointer(rebasing: padded[start..<start + 64]))
      }
    }
    return hash.state.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// The digest of an array of bytes.
  public static func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { hex($0) } }

  private mutating func absorb(_ block: UnsafeRawBufferPointer) {
    for index in 0..<16 {
      schedule[index] = UInt32(
        bigEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
      )
    }
    for index in 16..<64 {
      let (a, b) = (schedule[index - 15], schedule[index - 2])
      let small0 = Self.turn(a, 7) ^ Self.turn(a, 18) ^ (a >> 3)
      let small1 = Self.turn(b, 17) ^ Self.turn(b, 19) ^ (b >> 10)
      schedule[index] = schedule[index - 16] &+ small0 &+ schedule[index - 7] &+ small1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let big1 = Self.turn(e, 6) ^ Self.turn(e, 11) ^ Self.turn(e, 25)
      let choice = (e & f) ^ (~e & g)
      let first = h &+ big1 &+ choice &+ Self.constants[index] &+ schedule[index]
      let big0 = Self.turn(a, 2) ^ Self.turn(a, 13) ^ Self.turn(a, 22)
      let second = big0 &+ ((a & b) ^ (a & c) ^ (b & c))
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (index, value) in [a, b, c, d, e, f, g, h].enumerated() {
      state[index] = state[index] &+ value
    }
  }

  private static func turn(_ value: UInt32, _ count: UInt32) -> UInt32 {
    value >> count | value << (32 - count)
  }

  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  private static let constants: [UInt32] = {
    var primes: [UInt64] = []
    var candidate: UInt64 = 2
    while primes.count < 64 {
      if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
      candidate += 1
    }
    return primes.map { prime in
      // The root times 2^32, rounded down, by bisection.
      var (low, high): (UInt64, UInt64) = (1 << 32, 8 << 32)
      while high - low > 1 {
        let middle = (low + high) / 2
        if cubeIsAtMost(middle, prime) { low = middle } else { high = middle }
      }
      return UInt32(truncatingIfNeeded: low)
    }
  }()

  private static func cubeIsAtMost(_ x: UInt64, _ prime: UInt64) -> Bool {
    UInt128(x) * UInt128(x) * UInt128(x) <= UInt128(prime) << 96
  }
}
