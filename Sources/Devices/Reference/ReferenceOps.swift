import Foundation
import Graph

extension Op {
  /// The numbers this operation makes of its operands.
  func evaluate(_ x: [ReferenceTensor], as shape: Shape) -> [Float] {
    switch self {
    case .input, .constant: []
    case .unary(let kind): x[0].numbers.map(kind.apply)
    case .binary(let kind): Self.broadcast(x[0], x[1], to: shape, kind.apply)
    case .affine(let scale, let offset): x[0].numbers.map { scale * $0 + offset }
    case .clamp(let lower, let upper): x[0].numbers.map { Swift.min(Swift.max($0, lower), upper) }
    case .softcap(let cap): x[0].numbers.map { cap * Float(tanh(Double($0 / cap))) }
    case .cast(let dtype):
      dtype == .i32 ? x[0].numbers.map { $0.rounded(.towardZero) } : x[0].numbers
    case .gatedGelu: zip(x[0].numbers, x[1].numbers).map { Unary.gelu.apply($0) * $1 }
    case .linear: Self.linear(x)
    case .matmul(let transposed): Self.matmul(x[0], x[1], transposed: transposed, to: shape)
    case .rmsNorm(let epsilon): Self.rmsNorm(x, epsilon)
    case .layerNorm(let epsilon): Self.layerNorm(x, epsilon)
    case .softmax: Self.eachRow(x[0], Self.softmax)
    case .argmax: Self.argmax(x[0])
    case .reduce(let kind, let axis): Self.reduce(x[0], kind, axis)
    case .rotaryTable: Self.rotaryTable(x[0], x[1])
    case .rotate(let axes): Self.rotate(x[0], x[1], axes)
    case .attention(let scale): Self.attention(x, scale)
    case .cachedAttention(let scale, let window): Self.cachedAttention(x, scale, window)
    case .bandedAttention(let window, let cap): Self.bandedAttention(x, window, cap)
    case .maskedAttention(let scale): Self.maskedAttention(x, scale)
    case .attentionMask(_, let past, let new, let window):
      Self.attentionMask(x, past: past, new: new, window, to: shape)
    case .countMask: (0..<shape[0]).map { $0 < x[0].scalar ? 0 : AttentionMask.hidden }
    case .cacheUpdate: Self.cacheUpdate(x)
    case .gather: Self.gather(x[0], x[1])
    case .reshape: x[0].numbers
    case .transpose(let permutation): Self.transpose(x[0], permutation, to: shape)
    case .slice(let axis, let start, let count): Self.slice(x[0], axis, start, count)
    case .concat(let axis): Self.concat(x, axis)
    case .pad(let axis, let before, let after): Self.pad(x[0], axis, before, after)
    case .conv2D(let stride, let padding): Self.conv2D(x[0], x[1], stride, padding, to: shape)
    case .causalDepthwiseConv: Self.depthwise(x[0], x[1])
    }
  }

  static func eachRow(_ x: ReferenceTensor, _ body: ([Float]) -> [Float]) -> [Float] {
    (0..<x.rows).flatMap { row in
      body(Array(x.numbers[row * x.width..<(row + 1) * x.width]))
    }
  }

  private static func broadcast(
    _ a: ReferenceTensor,
    _ b: ReferenceTensor,
    to shape: Shape,
    _ body: (Float, Float) -> Float
  ) -> [Float] {
    let left = strides(of: a.shape, in: shape)
    let right = strides(of: b.shape, in: shape)
    var index = [Int](repeating: 0, count: shape.rank)
    return (0..<shape.elementCount).map { _ in
      let l = zip(index, left).reduce(0) { $0 + $1.0 * $1.1 }
      let r = zip(index, right).reduce(0) { $0 + $1.0 * $1.1 }
      var axis = shape.rank - 1
      while axis >= 0 {
        index[axis] += 1
        if index[axis] < shape[axis] { break }
        index[axis] = 0
        axis -= 1
      }
      return body(a.numbers[l], b.numbers[r])
    }
  }

  /// Element strides of an operand within a broadcast shape; 0 along repeated axes.
  private static func strides(of operand: Shape, in shape: Shape) -> [Int] {
    var result = [Int](repeating: 0, count: shape.rank)
    var step = 1
    for axis in (0..<operand.rank).reversed() {
      if operand[axis] != 1 { result[axis + shape.rank - operand.rank] = step }
      step *= operand[axis]
    }
    return result
  }

  private static func rmsNorm(_ x: [ReferenceTensor], _ epsilon: Float) -> [Float] {
    eachRow(x[0]) { row in
      let mean = row.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(row.count)
      let factor = 1 / (mean + Double(epsilon)).squareRoot()
      return row.indices.map { index in
        let weight = x.count > 1 ? Double(x[1].numbers[index]) : 1
        return Float(Double(row[index]) * factor * weight)
      }
    }
  }

  private static func layerNorm(_ x: [ReferenceTensor], _ epsilon: Float) -> [Float] {
    eachRow(x[0]) { row in
      let mean = row.reduce(0.0) { $0 + Double($1) } / Double(row.count)
      let variance =
        row.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
        / Double(row.count)
      let factor = 1 / (variance + Double(epsilon)).squareRoot()
      return row.indices.map {
        Float((Double(row[$0]) - mean) * factor * Double(x[1].numbers[$0]))
      }
    }
  }

  static func softmax(_ row: [Float]) -> [Float] {
    let peak = Double(row.max() ?? 0)
    let powers = row.map { exp(Double($0) - peak) }
    let sum = powers.reduce(0, +)
    return powers.map { Float($0 / sum) }
  }

  private static func argmax(_ x: ReferenceTensor) -> [Float] {
    eachRow(x) { row in
      [Float(row.indices.reduce(0) { row[$1] > row[$0] ? $1 : $0 })]
    }
  }

  private static func reduce(_ x: ReferenceTensor, _ kind: Reduction, _ axis: Int) -> [Float] {
    let inner = x.shape.extents[(axis + 1)...].reduce(1, *)
    let outer = x.shape.extents[..<axis].reduce(1, *)
    let extent = x.shape[axis]
    return (0..<outer * inner).map { index in
      let base = index / inner * extent * inner + index % inner
      let entries = (0..<extent).map { Double(x.numbers[base + $0 * inner]) }
      switch kind {
      case .sum: return Float(entries.reduce(0, +))
      case .mean: return Float(entries.reduce(0, +) / Double(extent))
      case .maximum: return Float(entries.max() ?? 0)
      }
    }
  }

  private static func rotaryTable(_ x: ReferenceTensor, _ rates: ReferenceTensor) -> [Float] {
    x.numbers.flatMap { position in
      let angles = rates.numbers.map { Double(position * $0) }
      return angles.map { Float(cos($0)) } + angles.map { Float(sin($0)) }
    }
  }

  private static func rotate(
    _ x: ReferenceTensor,
    _ table: ReferenceTensor,
    _ axes: Int
  ) -> [Float] {
    var result = x.numbers
    let (heads, size) = (x.shape[1], x.width)
    let half = size / axes / 2
    for row in 0..<x.rows {
      for part in 0..<axes {
        for i in 0..<half {
          let angle = row / heads * size + part * 2 * half + i
          let (c, s) = (table.numbers[angle], table.numbers[angle + half])
          let first = row * size + part * 2 * half + i
          let (a, b) = (x.numbers[first], x.numbers[first + half])
          result[first] = a * c - b * s
          result[first + half] = b * c + a * s
        }
      }
    }
    return result
  }
}

extension Unary {
  /// The function's value, computed in f64.
  func apply(_ value: Float) -> Float {
    let x = Double(value)
    switch self {
    case .gelu:
      return Float(0.5 * x * (1 + Foundation.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))
    case .silu: return Float(x / (1 + Foundation.exp(-x)))
    case .sigmoid: return Float(1 / (1 + Foundation.exp(-x)))
    case .relu: return max(value, 0)
    case .tanh: return Float(Foundation.tanh(x))
    case .softplus: return Float(x > 30 ? x : log1p(Foundation.exp(x)))
    case .exp: return Float(Foundation.exp(x))
    }
  }
}
