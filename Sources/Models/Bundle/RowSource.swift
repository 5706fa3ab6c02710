public import Graph

/// Tensors as numbers, a run of rows at a time: what a bundle is made from.
public protocol RowSource: WeightSource {
  /// Writes rows of a tensor, all axes but the first as one.
  ///
  /// - Parameters:
  ///   - name: the tensor.
  ///   - rows: which rows; tensors of one axis or none have a single one.
  ///   - target: room for the numbers.
  /// - Throws: where the tensor is absent or has a format that cannot be read.
  func read(
    _ name: String,
    rows: Range<Int>,
    into target: UnsafeMutableBufferPointer<Float>
  ) throws

  /// What holds a tensor, as error messages name it.
  func fileName(of name: String) -> String
}

extension Checkpoint: RowSource {
  /// Writes rows of a mapped tensor.
  ///
  /// - Throws: `CheckpointError`.
  public func read(
    _ name: String,
    rows: Range<Int>,
    into target: UnsafeMutableBufferPointer<Float>
  ) throws {
    let type = try requiredType(of: name)
    let bytes = try bytes(of: name)
    let first = type.shape.rank > 1 ? rows.lowerBound * (target.count / max(rows.count, 1)) : 0
    guard let base = bytes.baseAddress else { return }
    switch type.dtype {
    case .bf16:
      for index in 0..<target.count {
        let bits = base.loadUnaligned(fromByteOffset: (first + index) * 2, as: UInt16.self)
        target[index] = Float(bitPattern: UInt32(bits) << 16)
      }
    case .f16:
      for index in 0..<target.count {
        let bits = base.loadUnaligned(fromByteOffset: (first + index) * 2, as: UInt16.self)
        target[index] = ElementCoding.widen(half: bits)
      }
    case .f32:
      for index in 0..<target.count {
        target[index] = base.loadUnaligned(fromByteOffset: (first + index) * 4, as: Float.self)
      }
    default:
      throw CheckpointError.tensor(
        file: fileName(of: name),
        name: name,
        expected: "F32, F16 or BF16",
        came: type.dtype.rawValue
      )
    }
  }
}
