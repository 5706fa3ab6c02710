import CGPU
import Dispatch
import Foundation
import Graph

/// A weight matrix on a device, packed for the product shaders, in windows a view can reach.
final class GPUMatrix: @unchecked Sendable {
  /// Some of the matrix's rows, which are columns of the product.
  struct Window {
    let firstRow: Int
    let rows: Int
    let weights: GPUBuffer
    /// Scales or tables as f32; nil for dense formats.
    let scales: GPUBuffer?
  }

  let type: TensorType
  let windows: [Window]

  /// Bytes of a packed matrix with its scales, in tiles of some rows.
  static func byteCount(_ type: TensorType, tile: Int) -> Int {
    let rows = (type.shape[0] + tile - 1) / tile * tile
    let scales: Int =
      switch type.dtype {
      case .int8Block32, .int4Block32: rows * (type.shape[1] / 32)
      case .int8Row: rows
      case .int4Palette32: rows / 2
      case .f32, .f16, .bf16, .i32: 0
      }
    return rows * ((type.shape[1] + 3) / 4) * type.dtype.packedTexelBytes + scales * 4
  }

  /// Packs a matrix.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  init(_ context: GPUContext, _ bytes: UnsafeRawPointer, _ type: TensorType) throws {
    self.type = type
    let (rows, columns) = (type.shape[0], type.shape[1])
    let depth = (columns + 3) / 4
    let texelBytes = type.dtype.packedTexelBytes
    let tile = context.packedRows
    let tileTexels = depth * tile
    let most = min(
      context.device.texelLimit,
      min(context.device.allocationLimit, 1 << 30) / texelBytes
    )
    let tiles = max(most / tileTexels, 1)
    windows = try stride(from: 0, to: rows, by: tiles * tile).map { first in
      let count = min(tiles * tile, rows - first)
      let part = GPUMatrixPart(
        bytes: bytes,
        type: type,
        first: first,
        rows: count,
        tile: tile
      )
      return Window(
        firstRow: first,
        rows: count,
        weights: try part.packed(context),
        scales: try part.scales(context)
      )
    }
  }
}

/// Rows of a matrix while they are packed.
private struct GPUMatrixPart: @unchecked Sendable {
  let bytes: UnsafeRawPointer
  let type: TensorType
  let first: Int
  let rows: Int
  /// Rows of a tile of the packed layout.
  let tile: Int

  private var columns: Int { type.shape[1] }
  private var tiles: Int { (rows + tile - 1) / tile }

  func packed(_ context: GPUContext) throws -> GPUBuffer {
    let size = tiles * tile * ((columns + 3) / 4) * type.dtype.packedTexelBytes
    let buffer = try GPUBuffer(context, byteCount: size)
    if let pointer = buffer.pointer {
      pack(to: pointer)
    } else {
      let staging = try Buffer(byteCount: size)
      pack(to: staging.pointer)
      try buffer.upload(staging.pointer, byteCount: size)
    }
    return buffer
  }

  private func pack(to target: UnsafeMutableRawPointer) {
    let target = UnsafeSendable(pointer: target)
    let step = max(tiles / 16, 1)
    DispatchQueue.concurrentPerform(iterations: (tiles + step - 1) / step) { index in
      pack(tiles: index * step..<min((index + 1) * step, tiles), to: target.pointer)
    }
  }

  private func pack(tiles: Range<Int>, to target: UnsafeMutableRawPointer) {
    let (from, to, width) = (tiles.lowerBound, tiles.upperBound, tile)
    switch type.dtype {
    case .int8Block32, .int8Row:
      tg_pack_bytes(
        (bytes + first * columns).assumingMemoryBound(to: Int8.self),
        rows,
        columns,
        width,
        from,
        to,
        target.assumingMemoryBound(to: Int8.self)
      )
    case .int4Block32, .int4Palette32:
      tg_pack_nibbles(
        (bytes + first * columns / 2).assumingMemoryBound(to: UInt8.self),
        rows,
        columns,
        width,
        from,
        to,
        target.assumingMemoryBound(to: UInt32.self)
      )
    default:
      let format: Int32 = type.dtype == .f32 ? 0 : type.dtype == .f16 ? 1 : 2
      let size = type.dtype == .f32 ? 4 : 2
      tg_pack_halves(
        bytes + first * columns * size,
        format,
        rows,
        columns,
        width,
        from,
        to,
        target.assumingMemoryBound(to: UInt16.self)
      )
    }
  }

  /// Scales of blocks or rows, or tables of 16 for each 32 rows, as f32.
  func scales(_ context: GPUContext) throws -> GPUBuffer? {
    let total = type.shape.elementCount
    let padded = tiles * tile
    let range: (start: Int, offset: Int, count: Int, size: Int)
    switch type.dtype {
    case .int8Block32:
      let blocks = columns / 32
      range = (total, first * blocks, rows * blocks, padded * blocks)
    case .int8Row: range = (total, first, rows, padded)
    case .int4Block32:
      let blocks = columns / 32
      range = (total / 2, first * blocks, rows * blocks, padded * blocks)
    case .int4Palette32:
      range = (total / 2, first / 32 * 16, (rows + 31) / 32 * 16, (padded + 31) / 32 * 16)
    default: return nil
    }
    var numbers = [Float](repeating: 0, count: max(range.size, 4))
    for index in 0..<range.count {
      numbers[index] = ElementCoding.widen(
        half: bytes.loadUnaligned(
          fromByteOffset: range.start + 2 * (range.offset + index),
          as: UInt16.self
        )
      )
    }
    let buffer = try GPUBuffer(context, byteCount: numbers.count * 4)
    try numbers.withUnsafeBytes { source in
      guard let base = source.baseAddress else { return }
      try buffer.upload(base, byteCount: source.count)
    }
    return buffer
  }
}

private struct UnsafeSendable: @unchecked Sendable {
  let pointer: UnsafeMutableRawPointer
}

extension DType {
  /// Bytes of four depths of a column.
  fileprivate var packedTexelBytes: Int {
    switch self {
    case .int8Block32, .int8Row, .int4Block32, .int4Palette32: 4
    case .f32, .f16, .bf16, .i32: 8
    }
  }
}

/// Packed matrices that programs of a unit share as long as one of them lives.
final class GPUWeightStore: Sendable {
  private struct Key: Hashable {
    let address: Int
    let type: TensorType
  }

  private struct Entry {
    weak var matrix: GPUMatrix?
  }

  private let entries = Protected<[Key: Entry]>([:])

  /// The packed form of a mapped matrix.
  ///
  /// Whoever holds it has to hold what is mapped too.
  func matrix(
    _ context: GPUContext,
    _ bytes: UnsafeRawPointer,
    _ type: TensorType
  ) throws -> GPUMatrix {
    try entries.update { entries in
      let key = Key(address: Int(bitPattern: bytes), type: type)
      if let matrix = entries[key]?.matrix { return matrix }
      entries = entries.filter { $0.value.matrix != nil }
      let matrix = try GPUMatrix(context, bytes, type)
      entries[key] = Entry(matrix: matrix)
      return matrix
    }
  }
}
