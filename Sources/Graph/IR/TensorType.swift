/// Element format and extents of a tensor.
public struct TensorType: Hashable, Sendable, CustomStringConvertible {
  /// How elements are stored.
  public let dtype: DType
  /// The extents, outermost first.
  public let shape: Shape

  /// A type from its parts.
  public init(_ dtype: DType, _ shape: Shape) {
    self.dtype = dtype
    self.shape = shape
  }

  /// Bytes of a contiguous tensor of this type.
  public var byteCount: Int { dtype.byteCount(of: shape) }

  /// For example `f32[256x1536]`.
  public var description: String { dtype.rawValue + shape.description }
}
