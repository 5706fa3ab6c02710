/// Attention in the three forms the towers and the decoder use, and the cache behind it.
enum Attention {
  static func full(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 3...4)
    try heads(inputs[0], inputs[1], inputs[2])
    if inputs.count == 4 { try Expect.integers("count", inputs[3], count: 1) }
    return inputs[0]
  }

  static func cached(_ inputs: [TensorType], window: Int?) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 7...8)
    try heads(inputs[0], inputs[1], inputs[2])
    try heads(inputs[0], inputs[3], inputs[4])
    try Expect.integers("query position", inputs[5], count: 1)
    try Expect.integers("position", inputs[6], count: 1)
    if inputs.count == 8 {
      try Expect.integers("blocks", inputs[7], count: inputs[3].shape[0])
    }
    if let window, window < 1 { throw OperandError("expected a window above 0, got \(window)") }
    return inputs[0]
  }

  static func banded(_ inputs: [TensorType], window: Int) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 5...5)
    try heads(inputs[0], inputs[1], inputs[2])
    guard window > 0 else { throw OperandError("expected a window above 0, got \(window)") }
    let shape = inputs[0].shape
    try Expect.shape("keys", inputs[1], shape)
    try Expect.shape("relative keys", inputs[3], [window + 1, shape[1], shape[2]])
    try Expect.integers("count", inputs[4], count: 1)
    return inputs[0]
  }

  static func masked(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    guard inputs.count == 4 || inputs.count == 6 else {
      throw OperandError("expected 4 or 6 operands, got \(inputs.count)")
    }
    var keys = 0
    for index in stride(from: 1, to: inputs.count - 1, by: 2) {
      try heads(inputs[0], inputs[index], inputs[index + 1])
      keys += inputs[index].shape[0]
    }
    let mask = inputs[inputs.count - 1]
    try Expect.dense(mask)
    if mask.shape.rank != 1 {
      try Expect.shape("mask", mask, [inputs[0].shape[0], keys])
    } else {
      try Expect.shape("mask", mask, [keys])
    }
    return inputs[0]
  }

  static func mask(
    _ inputs: [TensorType],
    queries: Int,
    past: Int,
    new: Int
  ) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 2...3)
    try Expect.integers("query position", inputs[0], count: 1)
    try Expect.integers("position", inputs[1], count: 1)
    if inputs.count == 3 { try Expect.integers("blocks", inputs[2], count: new) }
    return TensorType(.f32, [queries, past + new])
  }

  static func update(_ inputs: [TensorType]) throws(OperandError) -> TensorType {
    try Expect.count(inputs, 4...4)
    try Expect.dense(inputs[0])
    try Expect.dense(inputs[1])
    try Expect.rank("cache", inputs[0], 3)
    try Expect.shape(
      "new rows",
      inputs[1],
      inputs[0].shape.replacingFirst(with: inputs[1].shape[0])
    )
    try Expect.integers("position", inputs[2], count: 1)
    try Expect.integers("count", inputs[3], count: 1)
    return inputs[0]
  }

  private static func heads(
    _ query: TensorType,
    _ key: TensorType,
    _ value: TensorType
  ) throws(OperandError) {
    try Expect.dense(query)
    try Expect.dense(key)
    try Expect.rank("queries", query, 3)
    try Expect.rank("keys", key, 3)
    try Expect.shape("values", value, key.shape)
    guard query.shape.last == key.shape.last, key.shape[1] > 0,
      query.shape[1] % key.shape[1] == 0
    else { throw OperandError("queries \(query.shape) do not fit keys \(key.shape)") }
  }
}
