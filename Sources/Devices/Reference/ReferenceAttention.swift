import Foundation
import Graph

extension Op {
  static func attention(_ x: [ReferenceTensor], _ scale: Float) -> [Float] {
    let visible = x.count > 3 ? min(x[3].scalar, x[1].shape[0]) : x[1].shape[0]
    return eachQuery(x[0]) { _, head, query in
      let keys = (0..<visible).map { KeyRow(x[1], x[2], row: $0, head: head, of: x[0]) }
      return mix(query, keys, scale: scale) { $0 }
    }
  }

  static func cachedAttention(
    _ x: [ReferenceTensor],
    _ scale: Float,
    _ window: Int?
  ) -> [Float] {
    let (cacheRows, newRows) = (x[1].shape[0], x[3].shape[0])
    let (queryPosition, position) = (x[5].scalar, x[6].scalar)
    let blocks = x.count > 7 ? x[7].numbers : []
    return eachQuery(x[0]) { row, head, query in
      let own = queryPosition + row
      var keys: [KeyRow] = []
      for r in 0..<cacheRows {
        let latest = position - 1 - (position - 1 - r + cacheRows * 2) % cacheRows
        guard latest >= 0, position > 0, latest <= own, own - latest < window ?? Int.max
        else { continue }
        keys.append(KeyRow(x[1], x[2], row: r, head: head, of: x[0]))
      }
      for r in 0..<newRows {
        let place = position + r
        let index = own - position
        let sharesBlock =
          blocks.indices.contains(index) && blocks[index] > 0
          && blocks[index] == blocks[r]
        guard place <= own || sharesBlock, own - place < window ?? Int.max else { continue }
        keys.append(KeyRow(x[3], x[4], row: r, head: head, of: x[0]))
      }
      return mix(query, keys, scale: scale) { $0 }
    }
  }

  static func maskedAttention(_ x: [ReferenceTensor], _ scale: Float) -> [Float] {
    let mask = x[x.count - 1]
    let parts = stride(from: 1, to: x.count - 1, by: 2).map { (x[$0], x[$0 + 1]) }
    return eachQuery(x[0]) { row, head, query in
      let keys = parts.flatMap { keys, values in
        (0..<keys.shape[0]).map { KeyRow(keys, values, row: $0, head: head, of: x[0]) }
      }
      let start = mask.shape.rank == 1 ? 0 : row * keys.count
      var hidden = mask.numbers[start..<start + keys.count].makeIterator()
      return mix(query, keys, scale: scale) { $0 + Double(hidden.next() ?? 0) }
    }
  }

  static func bandedAttention(
    _ x: [ReferenceTensor],
    _ window: Int,
    _ cap: Float
  ) -> [Float] {
    let count = min(x[4].scalar, x[1].shape[0])
    let (heads, size) = (x[0].shape[1], x[0].width)
    return eachQuery(x[0]) { row, head, query in
      let visible = (max(0, row - window + 1)..<row + 1).filter { $0 < count }
      let keys = visible.map { KeyRow(x[1], x[2], row: $0, head: head, of: x[0]) }
      var distances = visible.map { row - $0 }.makeIterator()
      return mix(query, keys, scale: 1) { score in
        let base = ((distances.next() ?? 0) * heads + head) * size
        let relative = query.indices.reduce(0.0) {
          $0 + Double(query[$1]) * Double(x[3].numbers[base + $1])
        }
        return Double(cap) * tanh((score + relative) / Double(cap))
      }
    }
  }

  static func attentionMask(
    _ x: [ReferenceTensor],
    past: Int,
    new: Int,
    _ window: Int?,
    to shape: Shape
  ) -> [Float] {
    AttentionMask(
      queryPosition: x[0].scalar,
      position: x[1].scalar,
      past: past,
      new: new,
      window: window,
      blocks: x.count > 2 ? x[2].numbers.map { Int32($0) } : []
    ).numbers(queries: shape[0])
  }

  static func cacheUpdate(_ x: [ReferenceTensor]) -> [Float] {
    var result = x[0].numbers
    let (rows, width) = (x[0].shape[0], x[0].numbers.count / x[0].shape[0])
    for row in 0..<min(x[3].scalar, x[1].shape[0]) {
      let target = (x[2].scalar + row) % rows * width
      result.replaceSubrange(
        target..<target + width,
        with: x[1].numbers[row * width..<(row + 1) * width]
      )
    }
    return result
  }

  private static func eachQuery(
    _ query: ReferenceTensor,
    _ body: (Int, Int, [Float]) -> [Float]
  ) -> [Float] {
    let (heads, size) = (query.shape[1], query.width)
    return (0..<query.rows).flatMap { index in
      body(index / heads, index % heads, Array(query.numbers[index * size..<(index + 1) * size]))
    }
  }

  private static func mix(
    _ query: [Float],
    _ keys: [KeyRow],
    scale: Float,
    _ score: (Double) -> Double
  ) -> [Float] {
    let scores = keys.map { key in
      score(
        Double(scale)
          * zip(query, key.key).reduce(0.0) { $0 + Double($1.0) * Double($1.1) }
      )
    }
    let peak = scores.max() ?? 0
    let powers = scores.map { exp($0 - peak) }
    let sum = powers.reduce(0, +)
    var result = [Double](repeating: 0, count: query.count)
    for (power, key) in zip(powers, keys) {
      for (index, value) in key.value.enumerated() { result[index] += power / sum * Double(value) }
    }
    return result.map { Float($0) }
  }
}

/// One key and value row of the head that a query head reads.
private struct KeyRow {
  let key: ArraySlice<Float>
  let value: ArraySlice<Float>

  init(
    _ keys: ReferenceTensor,
    _ values: ReferenceTensor,
    row: Int,
    head: Int,
    of query: ReferenceTensor
  ) {
    let (groups, size) = (keys.shape[1], keys.width)
    let start = (row * groups + head * groups / query.shape[1]) * size
    key = keys.numbers[start..<start + size]
    value = values.numbers[start..<start + size]
  }
}
