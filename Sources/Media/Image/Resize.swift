internal import CMedia

/// Which implementation's fixed-point weights a resize uses.
public enum ResizeBackend: String, CaseIterable, Sendable {
  /// 16-bit weights with the largest precision that fits, as torchvision.
  case torchvision
  /// 32-bit weights with 22 bits of precision, as Pillow.
  case pillow
}

/// Antialiased bicubic resizing of 8-bit pictures, bit for bit as the reference does it.
///
/// Cubic with a = -0.5 whose support grows with the reduction; horizontal, then vertical, rounded
/// and clamped to 8 bits after each; an axis that keeps its length is left alone.
public enum Resize {
  /// `image` with the given size in pixels.
  ///
  /// - Precondition: both sides are at least 1.
  /// - Complexity: linear in the source's pixels; beside the result it holds one horizontally
  ///   resized copy.
  public static func bicubic(
    _ image: RGBImage,
    width: Int,
    height: Int,
    backend: ResizeBackend = .torchvision
  ) -> RGBImage {
    precondition(width > 0 && height > 0)
    var result = image
    if width != image.width {
      let axis = ResampleAxis(from: image.width, to: width, backend: backend)
      result = horizontal(result, axis)
    }
    if height != image.height {
      let axis = ResampleAxis(from: image.height, to: height, backend: backend)
      result = vertical(result, axis)
    }
    return result
  }

  private static func horizontal(_ image: RGBImage, _ axis: ResampleAxis) -> RGBImage {
    let width = axis.first.count
    var scratch = [Int32](repeating: 0, count: 3 * image.width)
    let total = width * image.height * 3
    let pixels = [UInt8](unsafeUninitializedCapacity: total) { output, filled in
      guard let base = output.baseAddress else { return }
      image.pixels.withUnsafeBufferPointer { source in
        guard let input = source.baseAddress else { return }
        axis.withCAxis { axis in
          for row in 0..<image.height {
            troika_resample_row(
              input + row * image.width * 3,
              Int32(image.width),
              axis,
              base + row * width * 3,
              &scratch
            )
          }
        }
      }
      filled = total
    }
    return RGBImage(width: width, height: image.height, pixels: pixels)
  }

  private static func vertical(_ image: RGBImage, _ axis: ResampleAxis) -> RGBImage {
    let height = axis.first.count
    let rowBytes = image.width * 3
    var scratch = [Int32](repeating: 0, count: rowBytes)
    let total = rowBytes * height
    let pixels = [UInt8](unsafeUninitializedCapacity: total) { output, filled in
      guard let base = output.baseAddress else { return }
      image.pixels.withUnsafeBufferPointer { source in
        guard let input = source.baseAddress else { return }
        axis.withCAxis { cAxis in
          for row in 0..<height {
            let first = Int(axis.first[row])
            let rows = (0..<Int(axis.count[row])).map {
              Optional(input + (first + $0) * rowBytes)
            }
            troika_resample_column(
              rows,
              Int32(rowBytes),
              cAxis,
              Int32(row),
              base + row * rowBytes,
              &scratch
            )
          }
        }
      }
      filled = total
    }
    return RGBImage(width: image.width, height: height, pixels: pixels)
  }
}

/// The fixed-point weights of one axis.
struct ResampleAxis {
  private(set) var first: [Int32] = []
  private(set) var count: [Int32] = []
  private var weights: [Int32] = []
  private var narrow: [Int16] = []
  private let stride: Int
  private let precision: Int

  init(from input: Int, to output: Int, backend: ResizeBackend) {
    let scale = Double(input) / Double(output)
    let filterScale = max(scale, 1)
    let support = 2 * filterScale
    let inverse = 1 / filterScale
    stride = Int(support.rounded(.up)) * 2 + 1
    var real = [Double](repeating: 0, count: stride * output)
    for index in 0..<output {
      let center = scale * (Double(index) + 0.5)
      let start = max(Int(center - support + 0.5), 0)
      let taps = min(min(Int(center + support + 0.5), input) - start, stride)
      var total = 0.0
      for tap in 0..<taps {
        let weight = Self.cubic((Double(tap + start) - center + 0.5) * inverse)
        real[index * stride + tap] = weight
        total += weight
      }
      if total != 0 {
        for tap in 0..<taps { real[index * stride + tap] /= total }
      }
      first.append(Int32(start))
      count.append(Int32(taps))
    }
    precision = backend == .pillow ? 22 : Self.largestPrecision(real.max() ?? 1)
    let unit = Double(1 << precision)
    weights = real.map { Int32($0 < 0 ? $0 * unit - 0.5 : $0 * unit + 0.5) }
    if backend == .torchvision { narrow = weights.map { Int16(truncatingIfNeeded: $0) } }
  }

  /// The most bits with which the largest weight stays below 2^15.
  private static func largestPrecision(_ largest: Double) -> Int {
    for precision in 0..<22 where Int(0.5 + largest * Double(1 << (precision + 1))) >= 1 << 15 {
      return precision
    }
    return 22
  }

  /// The cubic convolution kernel with a = -0.5.
  private static func cubic(_ value: Double) -> Double {
    let x = abs(value)
    if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
    if x < 2 { return (((x - 5) * x + 8) * x - 4) * -0.5 }
    return 0
  }

  /// Calls `body` with the C view of this axis.
  func withCAxis(_ body: (UnsafePointer<TroikaResampleAxis>) -> Void) {
    first.withUnsafeBufferPointer { first in
      count.withUnsafeBufferPointer { count in
        weights.withUnsafeBufferPointer { weights in
          narrow.withUnsafeBufferPointer { narrow in
            var axis = TroikaResampleAxis(
              output_length: Int32(first.count),
              stride: Int32(stride),
              precision: Int32(precision),
              first: first.baseAddress,
              count: count.baseAddress,
              weights: weights.baseAddress,
              narrow: narrow.isEmpty ? nil : narrow.baseAddress
            )
            body(&axis)
          }
        }
      }
    }
  }
}
