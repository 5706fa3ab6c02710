/// Functions of whole rows: norms, softmax, argmax, reductions.
enum RowWise {
  static func norm(
    _ inputs: [TensorType],
    operands: ClosedRange<Int>
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, operands)
    try Expect.dense(inputs[0])
    guard inputs[0].shape.rank >= 1 else { throw OperandError("expected rows, got a scalar") }
    if inputs.count == 2 { try Expect.shape("weight", inputs[1], [inputs[0].shape.last]) }
    return inputs[0]
  }

  static func argmax(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    let rows = try norm(inputs, operands: 1...1)
    return TensorType(.i32, Shape(Array(rows.shape.extents.dropLast())))
  }

  static func reduce(_ inputs: [TensorType], axis: Int) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    try Expect.dense(inputs[0])
    try Expect.axis(axis, of: inputs[0])
    var extents = inputs[0].shape.extents
    extents.remove(at: axis)
    return TensorType(inputs[0].dtype, Shape(extents))
  }
}
