public import Graph

/// Weights that lie in memory.
public final class MemoryWeights: WeightSource, @unchecked Sendable {
  private var types: [String: TensorType] = [:]
  private var storage: [String: UnsafeMutableRawBufferPointer] = [:]

  /// No weights.
  public init() {}

  deinit { for buffer in storage.values { buffer.deallocate() } }

  /// Adds a tensor of f32 numbers.
  public func add(_ name: String, _ values: [Float], _ shape: Shape) {
    values.withUnsafeBytes { add(name, bytes: $0, TensorType(.f32, shape)) }
  }

  /// Adds a tensor by its bytes.
  public func add(_ name: String, bytes: UnsafeRawBufferPointer, _ type: TensorType) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
    copy.copyMemory(from: bytes)
    types[name] = type
    storage[name] = copy
  }

  /// Adds a tensor of bf16 numbers, cut off from f32.
  public func addBrain(_ name: String, _ values: [Float], _ shape: Shape) {
    let halves = values.map { UInt16($0.bitPattern >> 16) }
    halves.withUnsafeBytes { add(name, bytes: $0, TensorType(.bf16, shape)) }
  }

  /// The type of a tensor.
  public func type(of name: String) -> TensorType? { types[name] }

  /// The bytes of a tensor.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard let buffer = storage[name] else { throw GraphError.missingWeight(name) }
    return UnsafeRawBufferPointer(buffer)
  }
}
