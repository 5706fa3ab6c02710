internal import Glibc

/// A float64 Fourier transform of eight real signals at once: two per lane, one as the real part and
/// one as the imaginary part, which `magnitudes` takes apart again.
///
/// Radix 2; the output is in natural order.
struct FourierTransform: Sendable {
  /// Signals side by side.
  static let lanes = 4
  /// Real signals per run.
  static let signals = 2 * lanes

  /// Input and output of one run.
  ///
  /// Shape `[length]` each.
  struct Workspace {
    var real: [SIMD4<Double>]
    var imaginary: [SIMD4<Double>]

    /// Sets everything to zero.
    mutating func clear() {
      for index in real.indices {
        real[index] = .zero
        imaginary[index] = .zero
      }
    }
  }

  private let length: Int
  private let cosines: [Double]
  private let sines: [Double]
  private let reversed: [Int]

  /// - Precondition: `length` is a power of two, at least 2.
  init(length: Int) {
    precondition(length >= 2 && length & (length - 1) == 0)
    self.length = length
    let angles = (0..<length / 2).map { -2 * Double.pi * Double($0) / Double(length) }
    cosines = angles.map { cos($0) }
    sines = angles.map { sin($0) }
    let bits = length.trailingZeroBitCount
    reversed = (0..<length).map { index in
      (0..<bits).reduce(0) { $0 | (index >> $1 & 1) << (bits - 1 - $1) }
    }
  }

  func makeWorkspace() -> Workspace {
    Workspace(
      real: [SIMD4<Double>](repeating: .zero, count: length),
      imaginary: [SIMD4<Double>](repeating: .zero, count: length)
    )
  }

  /// Transforms the workspace in place.
  func run(_ work: inout Workspace) {
    for index in 0..<length where index < reversed[index] {
      work.real.swapAt(index, reversed[index])
      work.imaginary.swapAt(index, reversed[index])
    }
    work.real.withUnsafeMutableBufferPointer { real in
      work.imaginary.withUnsafeMutableBufferPointer { imaginary in
        var half = 1
        while half < length {
          stage(half, real, imaginary)
          half *= 2
        }
      }
    }
  }

  /// The magnitudes of all signals, after a run.
  ///
  /// Shape `[length / 2 + 1]` each: the signals that were real parts, and the others.
  func magnitudes(
    _ work: Workspace
  ) -> (real: [SIMD4<Double>], imaginary: [SIMD4<Double>]) {
    var first: [SIMD4<Double>] = []
    var second: [SIMD4<Double>] = []
    first.reserveCapacity(length / 2 + 1)
    second.reserveCapacity(length / 2 + 1)
    for bin in 0...length / 2 {
      let mirror = (length - bin) & (length - 1)
      let realSum = work.real[bin] + work.real[mirror]
      let realDifference = work.real[bin] - work.real[mirror]
      let imaginarySum = work.imaginary[bin] + work.imaginary[mirror]
      let imaginaryDifference = work.imaginary[bin] - work.imaginary[mirror]
      let a = realSum * realSum + imaginaryDifference * imaginaryDifference
      let b = imaginarySum * imaginarySum + realDifference * realDifference
      first.append(a.squareRoot() * 0.5)
      second.append(b.squareRoot() * 0.5)
    }
    return (first, second)
  }

  /// Joins transforms of length `half` to ones of twice that length.
  private func stage(
    _ half: Int,
    _ real: UnsafeMutableBufferPointer<SIMD4<Double>>,
    _ imaginary: UnsafeMutableBufferPointer<SIMD4<Double>>
  ) {
    let step = length / (2 * half)
    for offset in 0..<half {
      let (cosine, sine) = (cosines[offset * step], sines[offset * step])
      for low in stride(from: offset, to: length, by: 2 * half) {
        let high = low + half
        let turnedReal = real[high] * cosine - imaginary[high] * sine
        let turnedImaginary = real[high] * sine + imaginary[high] * cosine
        real[high] = real[low] - turnedReal
        imaginary[high] = imaginary[low] - turnedImaginary
        real[low] += turnedReal
        imaginary[low] += turnedImaginary
      }
    }
  }
}
