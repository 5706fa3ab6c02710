import Graph

/// Sixteen halves that stand for many numbers.
///
/// Chosen by k-means in one dimension (Lloyd's iteration over a histogram) or evenly spaced, whichever
/// has the smaller square error.
struct Palette {
  /// The entries, rising.
  let halves: [UInt16]
  /// Their values.
  let numbers: [Float]
  /// Whether the evenly spaced entries were better.
  let isUniform: Bool
  /// Where an entry's numbers end and the next one's begin.
  private let borders: [Float]
  private let lowest: Float
  private let binsPerUnit: Float
  /// The entry of each bin's lower end.
  private let firstCodes: [UInt8]

  static let size = 16
  private static let iterations = 24

  init(_ values: UnsafePointer<Float>, count: Int) {
    let histogram = Histogram(values, count: count)
    let clustered = Self.rounded(Self.cluster(histogram))
    let step = (histogram.highest - histogram.lowest) / Float(Self.size - 1)
    let even = Self.rounded((0..<Self.size).map { histogram.lowest + step * Float($0) })
    isUniform = histogram.error(of: even) < histogram.error(of: clustered)
    let numbers = isUniform ? even : clustered
    let borders = zip(numbers, numbers.dropFirst()).map { ($0 + $1) / 2 }
    self.numbers = numbers
    self.borders = borders
    halves = numbers.map { ElementCoding.narrow(half: $0) }
    lowest = histogram.lowest
    binsPerUnit = histogram.binsPerUnit
    var code = 0
    firstCodes = (0..<Histogram.binCount).map { bin in
      // One bin's slack keeps rounding of the bin's number on the safe side.
      let end = histogram.lowest + Float(bin - 1) * histogram.width
      while code < borders.count, borders[code] < end { code += 1 }
      return UInt8(code)
    }
  }

  /// The entry nearest to a number.
  @inline(__always)
  func code(_ value: Float) -> Int {
    let place = (value - lowest) * binsPerUnit
    guard place > 0 else { return 0 }
    let bin = min(Histogram.binCount - 1, Int(min(place, Float(Histogram.binCount))))
    var code = Int(firstCodes[bin])
    while code < borders.count, value > borders[code] { code += 1 }
    return code
  }

  private static func rounded(_ numbers: [Float]) -> [Float] {
    numbers.map { ElementCoding.rounded($0, to: .f16) }.sorted()
  }

  private static func cluster(_ histogram: Histogram) -> [Float] {
    if let few = histogram.means(atMost: size) {
      return few + [Float](repeating: few.last ?? 0, count: size - few.count)
    }
    var centres = histogram.quantiles(size)
    for _ in 0..<iterations {
      let ends = zip(centres, centres.dropFirst()).map { histogram.bin(($0 + $1) / 2) }
      let cuts = [0] + ends + [Histogram.binCount]
      var moved = false
      for index in 0..<size {
        guard let mean = histogram.mean(cuts[index]..<max(cuts[index], cuts[index + 1])) else {
          continue
        }
        moved = moved || mean != centres[index]
        centres[index] = mean
      }
      centres.sort()
      if !moved { break }
    }
    return centres
  }
}

/// How often numbers fall into bins of one width, with running sums of what fell there.
private struct Histogram {
  static let binCount = 4096

  let lowest: Float
  let highest: Float
  let width: Float
  let binsPerUnit: Float
  /// Sums over the bins before each: how many numbers, their sum, the sum of their squares.
  private var counts = [Double](repeating: 0, count: binCount + 1)
  private var sums = [Double](repeating: 0, count: binCount + 1)
  private var squares = [Double](repeating: 0, count: binCount + 1)

  init(_ values: UnsafePointer<Float>, count: Int) {
    var (low, high) = (Float.infinity, -Float.infinity)
    for index in 0..<count where values[index].isFinite {
      low = min(low, values[index])
      high = max(high, values[index])
    }
    if low > high { (low, high) = (0, 0) }
    lowest = low
    highest = high
    width = (high - low) / Float(Self.binCount)
    binsPerUnit = high > low ? Float(Self.binCount) / (high - low) : 0
    for index in 0..<count where values[index].isFinite {
      let bin = bin(values[index]) + 1
      let value = Double(values[index])
      counts[bin] += 1
      sums[bin] += value
      squares[bin] += value * value
    }
    for bin in 1...Self.binCount {
      counts[bin] += counts[bin - 1]
      sums[bin] += sums[bin - 1]
      squares[bin] += squares[bin - 1]
    }
  }

  /// The bin of a number.
  func bin(_ value: Float) -> Int {
    let place = (value - lowest) * binsPerUnit
    return place > 0 ? Int(min(place, Float(Self.binCount - 1))) : 0
  }

  /// The mean of the numbers in some bins; nil where there is none.
  func mean(_ bins: Range<Int>) -> Float? {
    let count = counts[bins.upperBound] - counts[bins.lowerBound]
    return count > 0 ? Float((sums[bins.upperBound] - sums[bins.lowerBound]) / count) : nil
  }

  /// The means of the bins that hold anything; nil where there are more of them.
  func means(atMost limit: Int) -> [Float]? {
    var means: [Float] = []
    for bin in 0..<Self.binCount where counts[bin + 1] > counts[bin] {
      guard means.count < limit, let mean = mean(bin..<bin + 1) else { return nil }
      means.append(mean)
    }
    return means
  }

  /// The square error of rising entries, each bin given to one of them.
  func error(of entries: [Float]) -> Double {
    let ends = zip(entries, entries.dropFirst()).map { bin(($0 + $1) / 2) }
    let cuts = [0] + ends + [Self.binCount]
    return entries.indices.reduce(0) { total, index in
      let (first, last) = (cuts[index], max(cuts[index], cuts[index + 1]))
      let entry = Double(entries[index])
      let count = counts[last] - counts[first]
      return total + squares[last] - squares[first] - 2 * entry * (sums[last] - sums[first])
        + entry * entry * count
    }
  }

  /// Numbers that cut the cube root of the density into equal parts, where few entries err least.
  func quantiles(_ count: Int) -> [Float] {
    let stride = 32
    var total = 0.0
    let running = (0..<Self.binCount / stride).map { part -> Double in
      let first = part * stride
      let mass = counts[first + stride] - counts[first]
      total += mass > 0 ? Double(exponential(mass, 1.0 / 3)) : 0
      return total
    }
    return (0..<count).map { index in
      let wanted = total * (Double(index) + 0.5) / Double(count)
      let part = running.firstIndex { $0 >= wanted } ?? 0
      let before = part > 0 ? running[part - 1] : 0
      let share = running[part] > before ? (wanted - before) / (running[part] - before) : 0.5
      return lowest + width * Float(Double(part * stride) + share * Double(stride))
    }
  }
}
