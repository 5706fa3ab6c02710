/// Where the constants of a graph come from: a checkpoint folder, a bundle, or random numbers.
///
/// Tracing asks only for types; bytes are asked for when a unit compiles a segment.
public protocol WeightSource: Sendable {
  /// The type of a named tensor, or nil where there is none.
  func type(of name: String) -> TensorType?

  /// The type of a named tensor that a model reads with this shape; sources that make tensors up take
  /// it from here.
  func type(of name: String, expecting shape: Shape) -> TensorType?

  /// The bytes of a named tensor, row-major, valid as long as this source lives.
  ///
  /// - Throws: where the tensor is absent or its file cannot be read.
  func bytes(of name: String) throws -> UnsafeRawBufferPointer
}

extension WeightSource {
  /// The type of a named tensor, whatever shape is expected.
  public func type(of name: String, expecting shape: Shape) -> TensorType? { type(of: name) }
}
