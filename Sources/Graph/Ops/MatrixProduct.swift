/// Products of activations with weights and with each other.
enum MatrixProduct {
  static func linear(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...3)
    try Expect.dense(inputs[0])
    try Expect.rank("weight", inputs[1], 2)
    guard inputs[0].shape.rank >= 1, inputs[0].shape.last == inputs[1].shape[1] else {
      throw OperandError(
        "expected weight [N x \(inputs[0].shape.last)], got \(inputs[1].shape)"
      )
    }
    if inputs.count == 3 { try Expect.shape("bias", inputs[2], [inputs[1].shape[0]]) }
    return TensorType(inputs[0].dtype, inputs[0].shape.replacingLast(with: inputs[1].shape[0]))
  }

  static func matmul(
    _ inputs: [TensorType],
    transposed: Bool
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.dense(inputs[1])
    let left = inputs[0].shape
    let right = inputs[1].shape
    guard left.rank >= 2, left.rank == right.rank,
      left.extents.dropLast(2) == right.extents.dropLast(2),
      left.last == right[transposed ? -1 : -2]
    else { throw OperandError("cannot multiply \(left) by \(right)") }
    return TensorType(inputs[0].dtype, left.replacingLast(with: right[transposed ? -2 : -1]))
  }
}
