/// Rotary position embeddings.
enum Rotary {
  static func table(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.integers("positions", inputs[0])
    try Expect.rank("positions", inputs[0], 2)
    try Expect.rank("inverse frequencies", inputs[1], 1)
    let positions = inputs[0].shape
    return TensorType(.f32, [positions[0], positions[1] * 2 * inputs[1].shape[0]])
  }

  static func rotate(_ inputs: [TensorType], axes: Int) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.rank("heads", inputs[0], 3)
    let shape = inputs[0].shape
    guard axes > 0, shape.last % (2 * axes) == 0 else {
      throw OperandError("a head of \(shape.last) has no \(axes) parts of whole pairs")
    }
    try Expect.shape("table", inputs[1], [shape[0], shape.last])
    return inputs[0]
  }
}
