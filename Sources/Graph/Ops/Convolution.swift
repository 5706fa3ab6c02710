/// Convolutions of the audio tower.
enum Convolution {
  static func conv2D(
    _ inputs: [TensorType],
    stride: Int,
    padding: Int
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.rank("image", inputs[0], 3)
    try Expect.rank("weight", inputs[1], 4)
    let image = inputs[0].shape
    let weight = inputs[1].shape
    guard weight[1] == image[2], stride > 0, padding >= 0,
      image[0] + 2 * padding >= weight[2], image[1] + 2 * padding >= weight[3]
    else { throw OperandError("weight \(weight) does not fit image \(image)") }
    let rows = (image[0] + 2 * padding - weight[2]) / stride + 1
    let columns = (image[1] + 2 * padding - weight[3]) / stride + 1
    return TensorType(inputs[0].dtype, [rows, columns, weight[0]])
  }

  static func depthwise(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...2)
    try Expect.dense(inputs[0])
    try Expect.rank("rows", inputs[0], 2)
    try Expect.rank("weight", inputs[1], 3)
    guard inputs[1].shape[0] == inputs[0].shape[1], inputs[1].shape[1] == 1 else {
      throw OperandError("weight \(inputs[1].shape) does not fit rows \(inputs[0].shape)")
    }
    return inputs[0]
  }
}
