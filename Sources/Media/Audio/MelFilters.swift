internal import Glibc

/// Triangular filters on the HTK mel scale, peak 1, triangles linear in Hz.
struct MelFilters: Sendable {
  /// The first bin under each filter.
  private(set) var first: [Int] = []
  /// The weights from there on.
  private(set) var weights: [[Double]] = []
  private let binCount: Int

  init(_ parameters: LogMelParameters) {
    binCount = parameters.fftLength / 2 + 1
    let count = parameters.featureSize
    let low = Self.mel(parameters.minFrequency)
    let high = Self.mel(parameters.maxFrequency)
    let edges = (0..<count + 2).map {
      Self.hertz(low + (high - low) * Double($0) / Double(count + 1))
    }
    let nyquist = Double(parameters.samplingRate / 2)
    let bins = (0..<binCount).map { nyquist * Double($0) / Double(binCount - 1) }
    for filter in 0..<count {
      let (left, peak, right) = (edges[filter], edges[filter + 1], edges[filter + 2])
      let heights = bins.map { frequency in
        max(0, min((frequency - left) / (peak - left), (right - frequency) / (right - peak)))
      }
      let start = heights.firstIndex { $0 > 0 } ?? 0
      let end = heights.lastIndex { $0 > 0 } ?? -1
      first.append(start)
      weights.append(start <= end ? Array(heights[start...end]) : [])
    }
  }

  /// Shape `[bins, filters]`.
  var dense: [Double] {
    var result = [Double](repeating: 0, count: binCount * first.count)
    for (filter, start) in first.enumerated() {
      for (offset, weight) in weights[filter].enumerated() {
        result[(start + offset) * first.count + filter] = weight
      }
    }
    return result
  }

  private static func mel(_ hertz: Double) -> Double { 2595 * log10(1 + hertz / 700) }

  private static func hertz(_ mel: Double) -> Double { 700 * (pow(10, mel / 2595) - 1) }
}
