import Foundation

/// How full a launch of a fixed-shape program is.
public struct LaunchFill: Hashable, Sendable {
  /// The part of the rows that is real, above 0 and at most 1.
  public var rows: Double
  /// Positions in the caches before the launch; nil for full ones.
  public var position: Int?

  /// A fill from its parts.
  public init(rows: Double = 1, position: Int? = nil) {
    self.rows = rows
    self.position = position
  }
}

/// What one launch takes on a unit, and what that is made of.
public struct LaunchCost: Hashable, Sendable {
  /// Nanoseconds, launch included.
  public var nanoseconds: Double
  /// The lowest that is expected.
  public var low: Double
  /// The highest that is expected.
  public var high: Double
  /// Bytes moved from and to memory that units share.
  public var sharedByteCount: Int

  /// A cost from its parts.
  public init(nanoseconds: Double, low: Double, high: Double, sharedByteCount: Int) {
    self.nanoseconds = nanoseconds
    self.low = low
    self.high = high
    self.sharedByteCount = sharedByteCount
  }
}

/// Which tower a program is, as far as units rate them apart.
public enum Tower: Hashable, Sendable {
  /// The vision tower.
  case vision
  /// The audio tower.
  case audio
}

extension DeviceProfile.Unit {
  /// What a launch takes.
  ///
  /// A launch is its fixed part and the longer of two sides that run beside each other: what streams
  /// (operations one after the other, weights, caches) and what computes. The range takes each
  /// figure's own, as errors that do not depend on one another.
  ///
  /// - Parameters:
  ///   - work: what it asks for.
  ///   - fill: how full it is.
  ///   - tower: which tower it is.
  ///   - modelError: relative error that the form of this prediction has besides.
  /// - Returns: the time with its range.
  public func cost(
    _ work: ProgramWork,
    fill: LaunchFill = LaunchFill(),
    tower: Tower? = nil,
    modelError: Double = 0
  ) -> LaunchCost {
    let terms = Terms(unit: self, work: work, fill: fill)
    let (stream, compute) = (terms.stream(), terms.compute())
    let isStreaming = stream.nanoseconds >= compute.nanoseconds
    let side = isStreaming ? stream : compute
    let factor = tower.flatMap { figures[$0 == .vision ? .visionFactor : .audioFactor] }
    let scaled = side.nanoseconds * (factor?.value ?? 1)
    var total = terms.time(.launchNanoseconds, 1)
    total.nanoseconds += scaled
    let spread = (side.relative + Terms.relative(factor) + modelError * modelError).squareRoot()
    let error = (total.variance + spread * spread * scaled * scaled).squareRoot()
    let bytes = work.weightByteCount + (hasFixedShapes ? 0 : work.valueByteCount / 8)
    return LaunchCost(
      nanoseconds: total.nanoseconds,
      low: max(0, total.nanoseconds - error),
      high: total.nanoseconds + error,
      sharedByteCount: bytes
    )
  }
}

/// The terms of a launch's time.
private struct Terms {
  let unit: DeviceProfile.Unit
  let work: ProgramWork
  let fill: LaunchFill

  /// Nanoseconds and the sum of their squared errors.
  struct Sum {
    var nanoseconds = 0.0
    var variance = 0.0

    mutating func add(_ nanoseconds: Double, relative: Double) {
      self.nanoseconds += nanoseconds
      variance += nanoseconds * nanoseconds * relative
    }

    /// The squared relative error.
    var relative: Double { nanoseconds > 0 ? variance / (nanoseconds * nanoseconds) : 0 }
  }

  /// The squared half width of a figure's range.
  static func relative(_ figure: Figure?) -> Double {
    guard let figure, figure.value != 0 else { return 0 }
    let half = (figure.high - figure.low) / 2 / figure.value
    return half * half
  }

  func time(_ name: UnitFigure, _ count: Double) -> Sum {
    var sum = Sum()
    let figure = unit.figures[name]
    sum.add((figure?.value ?? 0) * count, relative: Self.relative(figure))
    return sum
  }

  private func rate(_ name: UnitFigure, _ amount: Double, into sum: inout Sum) {
    guard let figure = unit.figures[name], figure.value > 0, amount > 0 else { return }
    sum.add(amount / figure.value * 1e9, relative: Self.relative(figure))
  }

  func stream() -> Sum {
    var sum = time(.operationNanoseconds, Double(work.operations))
    rate(.weightBytesPerSecond, Double(work.weightByteCount), into: &sum)
    let free = unit[.stateFreeByteCount] ?? 0
    var bytes = 0.0
    // Many rows of queries read a cache in tiles, which their attention's rate includes.
    for entry in work.attention where entry.cacheByteCount > 0 && entry.rows == 1 {
      bytes += max(0, Double(entry.cacheByteCount) - free) * Double(entry.count)
    }
    // A cache whose next value the program makes is written out as a whole.
    let isStep = work.attention.allSatisfy { $0.rows == 1 }
    for state in work.updatedStates where isStep { bytes += max(0, Double(state) - free / 2) }
    rate(.stateBytesPerSecond, bytes, into: &sum)
    return sum
  }

  func compute() -> Sum {
    var sum = time(.dispatchNanoseconds, Double(work.operations))
    let padded = 1 - fill.rows
    let products = fill.rows + padded * (unit[.paddedProductShare] ?? 1)
    for product in work.products {
      guard let figure = unit.productRate(product), figure.value > 0 else { continue }
      let amount = Double(product.flops) * (product.rows > 1 ? products : 1)
      sum.add(amount / figure.value * 1e9, relative: Self.relative(figure))
    }
    let queries = fill.rows + padded * (unit[.paddedAttentionShare] ?? 1)
    for entry in work.attention {
      var flops = Double(entry.flops)
      var used = 1.0
      if let position = fill.position, entry.cacheRows > 0, !unit.hasFixedShapes {
        used = Double(min(position, entry.cacheRows)) / Double(entry.cacheRows)
      }
      flops += Double(entry.cacheFlops) * used
      let single = entry.rows == 1 && unit.figures[.rowAttentionFlopsPerSecond] != nil
      rate(
        single ? .rowAttentionFlopsPerSecond : .attentionFlopsPerSecond,
        flops * (entry.rows > 1 ? queries : 1),
        into: &sum
      )
    }
    rate(.convolutionFlopsPerSecond, Double(work.convolutionFlops), into: &sum)
    rate(.valueBytesPerSecond, Double(work.valueByteCount) * products, into: &sum)
    return sum
  }
}

extension DeviceProfile.Unit {
  /// The rate of a product: between the rows it was measured at, by the logarithm of both.
  func productRate(_ product: ProgramWork.Product) -> Figure? {
    let own = products.filter { $0.weights == product.weights }
    let entries = (own.isEmpty ? products.filter { $0.weights == nil } : own)
      .sorted { $0.rows < $1.rows }
    guard let first = entries.first, let last = entries.last else {
      return figures[.productFlopsPerSecond]
    }
    if product.rows <= first.rows { return first.flopsPerSecond }
    guard let next = entries.firstIndex(where: { $0.rows >= product.rows }) else {
      return last.flopsPerSecond
    }
    let (left, right) = (entries[next - 1], entries[next])
    let part =
      log(Double(product.rows) / Double(left.rows))
      / log(Double(right.rows) / Double(left.rows))
    func mixed(_ path: KeyPath<Figure, Double>) -> Double {
      // A low of 0 has no logarithm: a thousandth of the value stands for it.
      func rate(_ entry: DeviceProfile.ProductRate) -> Double {
        max(entry.flopsPerSecond[keyPath: path], entry.flopsPerSecond.value / 1000)
      }
      let (low, high) = (rate(left), rate(right))
      return exp(log(low) + part * (log(high) - log(low)))
    }
    return Figure(
      mixed(\.value),
      low: mixed(\.low),
      high: mixed(\.high),
      left.flopsPerSecond.provenance,
      source: left.flopsPerSecond.source
    )
  }
}
