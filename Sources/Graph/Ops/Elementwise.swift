/// Functions of single numbers and of pairs of numbers.
enum Elementwise {
  static func unary(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    try Expect.dense(inputs[0])
    return inputs[0]
  }

  static func binary(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.dense(inputs[1])
    guard let shape = inputs[0].shape.broadcast(with: inputs[1].shape) else {
      throw OperandError("shapes \(inputs[0].shape) and \(inputs[1].shape) do not broadcast")
    }
    return TensorType(inputs[0].dtype, shape)
  }

  static func gated(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.dense(inputs[1])
    try Expect.shape("up", inputs[1], inputs[0].shape)
    return inputs[0]
  }

  static func cast(_ inputs: [TensorType], to dtype: DType) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 1...1)
    guard dtype.isDense, inputs[0].dtype.isFloat == dtype.isFloat else {
      throw OperandError("cannot cast \(inputs[0]) to \(dtype.rawValue)")
    }
    return TensorType(dtype, inputs[0].shape)
  }
}
