import Graph

/// Stores rows of one tensor in its format.
///
/// Rows are given in runs that start at a multiple of 32, so that a run holds whole palettes; runs do
/// not touch each other's bytes and may be encoded at the same time.
struct TensorEncoder {
  /// Rows that share a palette.
  static let rowGroup = 32

  let type: TensorType
  let rows: Int
  let columns: Int

  init(_ type: TensorType) {
    self.type = type
    rows = type.shape.rank > 1 ? type.shape[0] : 1
    columns = type.shape.elementCount / max(rows, 1)
  }

  private var codeCount: Int { rows * columns }

  /// Encodes rows into the tensor's memory.
  ///
  /// - Parameters:
  ///   - values: `[range.count, columns]`.
  ///   - range: which rows they are.
  ///   - target: the first byte of the whole tensor.
  /// - Returns: what it did to the numbers, bytes not counted.
  func encode(
    _ values: UnsafePointer<Float>,
    _ range: Range<Int>,
    to target: UnsafeMutableRawPointer
  ) -> EncodingReport {
    var report = EncodingReport()
    report.count = range.count * columns
    switch type.dtype {
    case .int8Block32: blocks8(values, range, 32, target, &report)
    case .int8Row: blocks8(values, range, columns, target, &report)
    case .int4Block32: blocks4(values, range, target, &report)
    case .int4Palette32:
      for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.rowGroup) {
        let group = first..<min(first + Self.rowGroup, range.upperBound)
        palette(values + (first - range.lowerBound) * columns, group, target, &report)
      }
    case .f32, .f16, .bf16, .i32: dense(values, range, target, &report)
    }
    report.unstorable = unstorable(values, report.count)
    return report
  }

  /// Numbers that are not finite, or from which on scales or entries in f16 become infinite.
  private func unstorable(_ values: UnsafePointer<Float>, _ count: Int) -> Int {
    let limit: Float =
      switch type.dtype {
      case .f16, .int4Palette32: 65_520
      case .int4Block32: 65_520 * 8.5
      case .int8Block32, .int8Row: 65_520 * 127
      case .f32, .bf16, .i32: .infinity
      }
    var result = 0
    for index in 0..<count where !(abs(values[index]) < limit) { result += 1 }
    return result
  }

  private func dense(
    _ values: UnsafePointer<Float>,
    _ range: Range<Int>,
    _ target: UnsafeMutableRawPointer,
    _ report: inout EncodingReport
  ) {
    let first = range.lowerBound * columns
    for index in 0..<range.count * columns {
      let value = values[index]
      if type.dtype == .f16 {
        let half = ElementCoding.narrow(half: value)
        target.storeBytes(of: half, toByteOffset: (first + index) * 2, as: UInt16.self)
        report.add(value, stored: ElementCoding.widen(half: half))
      } else {
        target.storeBytes(of: value, toByteOffset: (first + index) * 4, as: Float.self)
        report.add(value, stored: value)
      }
    }
  }

  /// Signed bytes with one f16 scale for each `block` of a row.
  private func blocks8(
    _ values: UnsafePointer<Float>,
    _ range: Range<Int>,
    _ block: Int,
    _ target: UnsafeMutableRawPointer,
    _ report: inout EncodingReport
  ) {
    let first = range.lowerBound * columns
    let scales = target + codeCount
    for start in stride(from: 0, to: range.count * columns, by: block) {
      let half = ElementCoding.narrow(half: Self.magnitude(values + start, block) / 127)
      let scale = ElementCoding.widen(half: half)
      let inverse = scale > 0 ? 1 / scale : 0
      scales.storeBytes(of: half, toByteOffset: (first + start) / block * 2, as: UInt16.self)
      for index in start..<start + block {
        let scaled = (values[index] * inverse).rounded(.toNearestOrEven)
        let code = Int8(max(-127, min(127, scaled.isNaN ? 0 : scaled)))
        target.storeBytes(of: code, toByteOffset: first + index, as: Int8.self)
        report.add(values[index], stored: Float(code) * scale)
      }
    }
  }

  /// 4-bit values around 8 with one f16 scale for each 32 of a row, the best of several scales.
  private func blocks4(
    _ values: UnsafePointer<Float>,
    _ range: Range<Int>,
    _ target: UnsafeMutableRawPointer,
    _ report: inout EncodingReport
  ) {
    let first = range.lowerBound * columns
    let scales = target + codeCount / 2
    for start in stride(from: 0, to: range.count * columns, by: 32) {
      let block = values + start
      let half = Self.bestScale(block)
      let scale = ElementCoding.widen(half: half)
      let inverse = scale != 0 ? 1 / scale : 0
      scales.storeBytes(of: half, toByteOffset: (first + start) / 32 * 2, as: UInt16.self)
      for pair in 0..<16 {
        var byte: UInt8 = 0
        for (shift, index) in [(0, pair * 2), (4, pair * 2 + 1)] {
          let code = Self.code4(block[index] * inverse)
          report.add(block[index], stored: code * scale)
          byte |= UInt8(code + 8) << UInt8(shift)
        }
        target.storeBytes(of: byte, toByteOffset: (first + start) / 2 + pair, as: UInt8.self)
      }
    }
  }

  private static func code4(_ scaled: Float) -> Float {
    max(-8, min(7, scaled.isNaN ? 0 : scaled.rounded(.toNearestOrEven)))
  }

  /// The f16 scale that keeps 32 numbers best: the farthest from 0 stands at -8 or a little inside.
  private static func bestScale(_ block: UnsafePointer<Float>) -> UInt16 {
    var extreme: Float = 0
    for index in 0..<32 where abs(block[index]) > abs(extreme) { extreme = block[index] }
    var best = (half: UInt16(0), noise: Float.infinity)
    for step in 0..<6 {
      let half = ElementCoding.narrow(half: extreme / -(8.5 - 0.25 * Float(step)))
      let scale = ElementCoding.widen(half: half)
      guard scale != 0, scale.isFinite else { continue }
      let inverse = 1 / scale
      var noise: Float = 0
      for index in 0..<32 {
        let difference = block[index] - code4(block[index] * inverse) * scale
        noise += difference * difference
      }
      if noise < best.noise { best = (half, noise) }
    }
    return best.half
  }

  private static func magnitude(_ values: UnsafePointer<Float>, _ count: Int) -> Float {
    var largest: Float = 0
    for index in 0..<count { largest = max(largest, abs(values[index])) }
    return largest
  }

  /// 4-bit indices into a table of 16 halves for all rows of a group.
  private func palette(
    _ values: UnsafePointer<Float>,
    _ group: Range<Int>,
    _ target: UnsafeMutableRawPointer,
    _ report: inout EncodingReport
  ) {
    let count = group.count * columns
    let palette = Palette(values, count: count)
    if palette.isUniform { report.uniform += 1 } else { report.clustered += 1 }
    let table = target + codeCount / 2 + group.lowerBound / Self.rowGroup * 32
    for (index, half) in palette.halves.enumerated() {
      table.storeBytes(of: half, toByteOffset: index * 2, as: UInt16.self)
    }
    let codes = target + group.lowerBound * columns / 2
    for pair in 0..<count / 2 {
      let (low, high) = (palette.code(values[pair * 2]), palette.code(values[pair * 2 + 1]))
      report.add(values[pair * 2], stored: palette.numbers[low])
      report.add(values[pair * 2 + 1], stored: palette.numbers[high])
      codes.storeBytes(of: UInt8(low | high << 4), toByteOffset: pair, as: UInt8.self)
    }
  }
}
