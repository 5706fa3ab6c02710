import Foundation
public import Graph

/// Memory that units of this machine's processor can reach, aligned for vectors.
///
/// A launch that writes a buffer must be over, by its moment, before anyone reads it; that rule is
/// what makes sharing safe.
public final class Buffer: @unchecked Sendable {
  /// Bytes.
  public let byteCount: Int
  /// The memory itself, which may outlive the buffer where a device has imported it.
  let memory: HostMemory
  /// What units keep beside the memory, by owner.
  private let companions = Protected<[ObjectIdentifier: AnyObject]>([:])

  /// Bytes to which buffers are aligned.
  public static let alignment = 64

  /// Zeroed memory.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public init(byteCount: Int) throws(DeviceError) {
    self.byteCount = byteCount
    memory = try HostMemory(byteCount: byteCount)
  }

  /// First byte.
  public var pointer: UnsafeMutableRawPointer { memory.pointer }

  /// What an owner keeps beside this memory, made when first needed; it holds its owner.
  func companion<Companion: AnyObject>(
    of owner: AnyObject,
    _ make: () throws -> Companion
  ) rethrows -> Companion {
    try companions.update { companions in
      if let known = companions[ObjectIdentifier(owner)] as? Companion { return known }
      let made = try make()
      companions[ObjectIdentifier(owner)] = made
      return made
    }
  }
}

/// Zeroed memory of the processor; whole pages where it is large.
final class HostMemory: @unchecked Sendable {
  let pointer: UnsafeMutableRawPointer
  /// Bytes that belong to it: whole pages where it is large.
  let byteCount: Int
  private let isMapped: Bool

  /// Bytes from which memory begins at a page.
  private static let pagedByteCount = 64 << 10
  /// Bytes from which memory is mapped on its own: pages that nothing touches take no room.
  private static let mappedByteCount = 4 << 20
  private static let pageByteCount = 4096

  init(byteCount: Int) throws(DeviceError) {
    var size = max(byteCount, 1)
    let isPaged = size >= Self.pagedByteCount
    if isPaged { size = (size + Self.pageByteCount - 1) / Self.pageByteCount * Self.pageByteCount }
    self.byteCount = size
    isMapped = size >= Self.mappedByteCount
    var memory: UnsafeMutableRawPointer?
    if isMapped {
      let mapped = mmap(
        nil,
        size,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1,
        0
      )
      memory = mapped == MAP_FAILED ? nil : mapped
    } else if posix_memalign(&memory, isPaged ? Self.pageByteCount : Buffer.alignment, size) == 0,
      let memory
    {
      memset(memory, 0, size)
    }
    guard let memory else { throw .outOfMemory(unit: "host", byteCount: byteCount) }
    pointer = memory
  }

  deinit {
    if isMapped {
      munmap(pointer, byteCount)
    } else {
      free(pointer)
    }
  }
}

/// A tensor in memory.
public struct Value: Sendable {
  /// The memory.
  public let buffer: Buffer
  /// Where the tensor starts.
  public let byteOffset: Int
  /// Its format and extents; contiguous, row-major.
  public let type: TensorType

  /// A tensor over part of a buffer.
  public init(_ buffer: Buffer, byteOffset: Int = 0, type: TensorType) {
    self.buffer = buffer
    self.byteOffset = byteOffset
    self.type = type
  }

  /// A zeroed tensor in memory of its own.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public init(_ type: TensorType) throws(DeviceError) {
    self.init(try Buffer(byteCount: type.byteCount), type: type)
  }

  /// A tensor with these numbers.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public init(_ values: [Float], _ shape: Shape) throws(DeviceError) {
    try self.init(TensorType(.f32, shape))
    fill(values)
  }

  /// A tensor with these integers.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public init(_ values: [Int32], _ shape: Shape) throws(DeviceError) {
    try self.init(TensorType(.i32, shape))
    fill(values)
  }

  private func fill<Element>(_ values: [Element]) {
    values.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      pointer.copyMemory(from: base, byteCount: bytes.count)
    }
  }

  /// First byte.
  public var pointer: UnsafeMutableRawPointer { buffer.pointer + byteOffset }

  /// The numbers of an f32 tensor.
  ///
  /// - Precondition: the format is f32.
  public var floats: [Float] {
    precondition(type.dtype == .f32, "floats of \(type)")
    let base = pointer.assumingMemoryBound(to: Float.self)
    return Array(UnsafeBufferPointer(start: base, count: type.shape.elementCount))
  }

  /// The numbers of an i32 tensor.
  ///
  /// - Precondition: the format is i32.
  public var integers: [Int32] {
    precondition(type.dtype == .i32, "integers of \(type)")
    let base = pointer.assumingMemoryBound(to: Int32.self)
    return Array(UnsafeBufferPointer(start: base, count: type.shape.elementCount))
  }

  /// `count` rows of the outermost axis from `start`, sharing memory.
  public func rows(_ start: Int, count: Int) -> Value {
    let rows = type.shape[0]
    precondition(start >= 0 && count >= 0 && start + count <= rows, "rows outside \(type)")
    let stride = type.byteCount / max(rows, 1)
    return Value(
      buffer,
      byteOffset: byteOffset + start * stride,
      type: TensorType(type.dtype, type.shape.replacingFirst(with: count))
    )
  }
}
