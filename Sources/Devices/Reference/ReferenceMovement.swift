import Graph

extension Op {
  static func gather(_ table: ReferenceTensor, _ ids: ReferenceTensor) -> [Float] {
    let rows = table.shape[0]
    let width = table.numbers.count / max(rows, 1)
    return ids.numbers.flatMap { id in
      let row = Int(id)
      return row >= 0 && row < rows
        ? Array(table.numbers[row * width..<(row + 1) * width])
        : [Float](repeating: 0, count: width)
    }
  }

  static func transpose(
    _ x: ReferenceTensor,
    _ permutation: [Int],
    to shape: Shape
  ) -> [Float] {
    var strides = [Int](repeating: 1, count: x.shape.rank)
    for axis in (0..<max(x.shape.rank - 1, 0)).reversed() {
      strides[axis] = strides[axis + 1] * x.shape[axis + 1]
    }
    return (0..<shape.elementCount).map { flat in
      var (rest, source) = (flat, 0)
      for axis in (0..<shape.rank).reversed() {
        source += rest % shape[axis] * strides[permutation[axis]]
        rest /= shape[axis]
      }
      return x.numbers[source]
    }
  }

  static func slice(_ x: ReferenceTensor, _ axis: Int, _ start: Int, _ count: Int) -> [Float] {
    let inner = x.shape.extents[(axis + 1)...].reduce(1, *)
    let outer = x.shape.extents[..<axis].reduce(1, *)
    return (0..<outer).flatMap { block in
      let base = (block * x.shape[axis] + start) * inner
      return x.numbers[base..<base + count * inner]
    }
  }

  static func concat(_ x: [ReferenceTensor], _ axis: Int) -> [Float] {
    let inner = x[0].shape.extents[(axis + 1)...].reduce(1, *)
    let outer = x[0].shape.extents[..<axis].reduce(1, *)
    return (0..<outer).flatMap { block in
      x.flatMap { part in
        let size = part.shape[axis] * inner
        return part.numbers[block * size..<(block + 1) * size]
      }
    }
  }

  static func pad(_ x: ReferenceTensor, _ axis: Int, _ before: Int, _ after: Int) -> [Float] {
    let inner = x.shape.extents[(axis + 1)...].reduce(1, *)
    let outer = x.shape.extents[..<axis].reduce(1, *)
    let size = x.shape[axis] * inner
    var result: [Float] = []
    for block in 0..<outer {
      result += [Float](repeating: 0, count: before * inner)
      result += x.numbers[block * size..<(block + 1) * size]
      result += [Float](repeating: 0, count: after * inner)
    }
    return result
  }
}
