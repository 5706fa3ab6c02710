/// Operations that move elements and compute nothing.
enum Movement {
  static func gather(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    guard inputs[0].shape.rank >= 2, inputs[0].dtype.isFloat else {
      throw OperandError("expected a table of rows, got \(inputs[0])")
    }
    try Expect.integers("ids", inputs[1])
    try Expect.rank("ids", inputs[1], 1)
    return TensorType(.f32, inputs[0].shape.replacingFirst(with: inputs[1].shape[0]))
  }

  static func reshape(_ inputs: [TensorType], to shape: Shape) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    guard inputs[0].dtype.isDense, inputs[0].shape.elementCount == shape.elementCount else {
      throw OperandError("cannot reshape \(inputs[0]) to \(shape)")
    }
    return TensorType(inputs[0].dtype, shape)
  }

  static func transpose(
    _ inputs: [TensorType],
    _ permutation: [Int]
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    try Expect.dense(inputs[0])
    guard permutation.sorted() == Array(0..<inputs[0].shape.rank) else {
      throw OperandError("\(permutation) is no order of the axes of \(inputs[0])")
    }
    return TensorType(inputs[0].dtype, Shape(permutation.map { inputs[0].shape[$0] }))
  }

  static func slice(
    _ inputs: [TensorType],
    axis: Int,
    start: Int,
    count: Int
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    try Expect.axis(axis, of: inputs[0])
    var extents = inputs[0].shape.extents
    guard inputs[0].dtype.isDense, start >= 0, count > 0, start <= extents[axis] - count else {
      throw OperandError("cannot take \(count) from \(start) of axis \(axis) of \(inputs[0])")
    }
    extents[axis] = count
    return TensorType(inputs[0].dtype, Shape(extents))
  }

  static func concat(_ inputs: [TensorType], axis: Int) throws(OperandError) -> TensorType {
    guard let first = inputs.first else { throw OperandError("expected operands, got none") }
    try Expect.axis(axis, of: first)
    var extents = first.shape.extents
    extents[axis] = 0
    for input in inputs {
      var others = input.shape.extents
      guard input.dtype == first.dtype, others.count == extents.count else {
        throw OperandError("cannot join \(first) and \(input)")
      }
      extents[axis] += others[axis]
      others[axis] = extents[axis]
      guard others == extents else { throw OperandError("cannot join \(first) and \(input)") }
    }
    return TensorType(first.dtype, Shape(extents))
  }

  static func pad(
    _ inputs: [TensorType],
    axis: Int,
    before: Int,
    after: Int
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    try Expect.dense(inputs[0])
    try Expect.axis(axis, of: inputs[0])
    guard before >= 0, after >= 0 else { throw OperandError("padding cannot be negative") }
    var extents = inputs[0].shape.extents
    extents[axis] += before + after
    return TensorType(inputs[0].dtype, Shape(extents))
  }
}
