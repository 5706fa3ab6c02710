import CKernels
import Graph

/// Weights converted to f16, one copy for all programs that read them.
///
/// A copy lives as long as a program that holds it.
final class HalfWeights: Sendable {
  private struct Key: Hashable {
    let source: ObjectIdentifier
    let name: String
  }

  private struct Entry {
    weak var buffer: Buffer?
  }

  private let entries = Protected<[Key: Entry]>([:])

  /// A matrix in f16.
  ///
  /// - Throws: where it cannot be read or there is no memory.
  func buffer(_ name: String, _ type: TensorType, of source: any WeightSource) throws -> Buffer {
    guard let object = source as? (any AnyObject & WeightSource) else {
      return try Self.convert(name, type, source)
    }
    let key = Key(source: ObjectIdentifier(object), name: name)
    return try entries.update { entries in
      if let buffer = entries[key]?.buffer { return buffer }
      let buffer = try Self.convert(name, type, source)
      entries[key] = Entry(buffer: buffer)
      return buffer
    }
  }

  private static func convert(
    _ name: String,
    _ type: TensorType,
    _ source: any WeightSource
  ) throws -> Buffer {
    let columns = type.shape.last
    let rows = type.shape.elementCount / max(columns, 1)
    let buffer = try Buffer(byteCount: rows * columns * 2)
    var matrix = tk_matrix(
      data: try source.bytes(of: name).baseAddress,
      format: type.dtype.kernelFormat,
      rows: rows,
      columns: columns
    )
    withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { row in
      guard let wide = row.baseAddress else { return }
      let target = buffer.pointer.assumingMemoryBound(to: UInt16.self)
      for index in 0..<rows {
        tk_expand(&matrix, index, 0, columns, wide)
        tk_rows_best().pointee.narrowHalf(wide, target + index * columns, columns)
      }
    }
    return buffer
  }
}
