/// How the elements of a tensor are stored.
///
/// The block formats exist only for constant matrices `[rows, columns]`; activations are dense.
public enum DType: String, Hashable, Sendable, CaseIterable {
  /// IEEE binary32.
  case f32
  /// IEEE binary16.
  case f16
  /// The upper half of a binary32.
  case bf16
  /// Signed 32-bit integers: ids, positions, counts.
  case i32
  /// Signed bytes with one f16 scale per block of 32 along a row.
  case int8Block32
  /// Signed bytes with one f16 scale per row.
  case int8Row
  /// Signed 4-bit values with one f16 scale per block of 32 along a row.
  case int4Block32
  /// 4-bit indices into one 16-entry f16 table per group of 32 rows.
  case int4Palette32

  /// Whether elements are stored one after the other with no side tables.
  public var isDense: Bool {
    switch self {
    case .f32, .f16, .bf16, .i32: true
    case .int8Block32, .int8Row, .int4Block32, .int4Palette32: false
    }
  }

  /// Whether the values are real numbers.
  public var isFloat: Bool { self != .i32 }

  /// Bytes that a tensor of `shape` takes in this format.
  ///
  /// - Precondition: block formats have rank 2; rows of 32-blocks have a multiple of 32 columns.
  public func byteCount(of shape: Shape) -> Int {
    let count = shape.elementCount
    switch self {
    case .f32, .i32: return count * 4
    case .f16, .bf16: return count * 2
    case .int8Block32: return count + count / 32 * 2
    case .int8Row: return count + shape[0] * 2
    case .int4Block32: return count / 2 + count / 32 * 2
    case .int4Palette32: return count / 2 + (shape[0] + 31) / 32 * 32
    }
  }
}
