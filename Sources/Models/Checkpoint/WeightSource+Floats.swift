public import Graph

extension WeightSource {
  /// A small tensor's values as 32-bit floats, copied.
  ///
  /// - Parameter name: a tensor of f32, f16 or bf16.
  /// - Returns: the values, row-major.
  /// - Throws: where it is absent or has another format.
  public func floats(of name: String) throws -> [Float] {
    let bytes = try bytes(of: name)
    guard let type = type(of: name) else {
      throw CheckpointError.absent(name: name, file: "weights")
    }
    switch type.dtype {
    case .f32, .bf16, .f16: return bytes.baseAddress.map { ElementCoding.decode($0, type) } ?? []
    case .i32, .int8Block32, .int8Row, .int4Block32, .int4Palette32:
      throw CheckpointError.tensor(
        file: "weights",
        name: name,
        expected: "f32, f16 or bf16",
        came: type.dtype.rawValue
      )
    }
  }

  /// The only value of a tensor with one element.
  ///
  /// - Throws: where it is absent, has more elements or another format, or is not a number.
  public func scalar(of name: String) throws -> Float {
    let values = try floats(of: name)
    guard values.count == 1 else {
      throw CheckpointError.tensor(
        file: "weights",
        name: name,
        expected: "1 element",
        came: "\(values.count)"
      )
    }
    guard !values[0].isNaN else {
      throw CheckpointError.tensor(
        file: "weights",
        name: name,
        expected: "a number",
        came: "NaN"
      )
    }
    return values[0]
  }
}
