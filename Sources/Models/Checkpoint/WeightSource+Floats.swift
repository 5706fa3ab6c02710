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
    let count = type.shape.elementCount
    switch type.dtype {
    case .f32:
      return (0..<count).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
    case .bf16:
      return (0..<count).map { index in
        let upper = bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
        return Float(bitPattern: UInt32(upper) << 16)
      }
    case .f16:
      return (0..<count).map { index in
        let bits = bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
        return binary16(bits)
      }
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

private func binary16(_ bits: UInt16) -> Float {
  let sign = UInt32(bits & 0x8000) << 16
  let exponent = UInt32(bits >> 10) & 0x1F
  let fraction = UInt32(bits & 0x3FF)
  switch exponent {
  case 0:
    let magnitude = Float(fraction) * 0x1p-24
    return sign == 0 ? magnitude : -magnitude
  case 31: return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
  default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
  }
}
