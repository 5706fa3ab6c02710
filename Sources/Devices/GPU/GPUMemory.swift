import CGPU
import Foundation

/// Memory of a device.
final class GPUBuffer: @unchecked Sendable {
  /// Where it lies.
  enum Location {
    /// Where the device reads fastest.
    case device
    /// Where the processor sees it.
    case host
  }

  let context: GPUContext
  let handle: OpaquePointer
  let byteCount: Int
  /// Never given to another buffer of this process.
  let number = GPUSerial.next()
  private let imported: HostMemory?

  /// Zeroed where the processor sees it.
  init(_ context: GPUContext, byteCount: Int, _ location: Location = .device) throws(DeviceError) {
    self.context = context
    imported = nil
    self.byteCount = max(byteCount, 16)
    let memory = location == .host || context.device.isUnified ? TG_HOST : TG_LOCAL
    var status: Int32 = 0
    let made = tg_buffer_create(
      context.handle,
      UInt64(self.byteCount),
      Int32(memory.rawValue),
      &status
    )
    guard let made else {
      throw context.error(tg_status(UInt32(status)), "allocation", byteCount: byteCount)
    }
    handle = made
    if let pointer = tg_buffer_pointer(made) { memset(pointer, 0, self.byteCount) }
  }

  /// Memory of the processor, used where it lies; nil where that cannot be done.
  init?(_ context: GPUContext, importing memory: HostMemory, byteCount: Int) {
    let pointer = memory.pointer
    guard context.options.importsMemory, let alignment = context.device.importAlignment,
      Int(bitPattern: pointer) % alignment == 0, byteCount % alignment == 0
    else { return nil }
    var status: Int32 = 0
    guard let made = tg_buffer_import(context.handle, pointer, UInt64(byteCount), &status) else {
      return nil
    }
    self.context = context
    self.byteCount = byteCount
    imported = memory
    handle = made
  }

  deinit { tg_buffer_destroy(handle) }

  /// Where the processor sees it; nil for memory of the device alone and for imported memory.
  var pointer: UnsafeMutableRawPointer? { tg_buffer_pointer(handle) }

  /// Fills device memory with bytes of the processor's.
  func upload(_ source: UnsafeRawPointer, byteCount: Int) throws {
    if let pointer {
      pointer.copyMemory(from: source, byteCount: byteCount)
      return
    }
    let staging = try GPUBuffer(context, byteCount: byteCount, .host)
    staging.pointer?.copyMemory(from: source, byteCount: byteCount)
    let recording = try GPURecording(context, dispatches: 0, texels: 0, storages: 0)
    tg_record_copy(recording.handle, staging.handle, 0, handle, 0, UInt64(byteCount))
    try recording.end()
    try context.run([recording], program: "upload")
  }
}

/// A command buffer with what it refers to.
final class GPURecording: @unchecked Sendable {
  let handle: OpaquePointer
  /// Floating-point operations and bytes that its dispatches are worth together.
  var work = 0
  /// Whether its shaders have run before: drivers may compile them when they first run.
  var hasRun = false
  private let context: GPUContext
  private var buffers: [Int: GPUBuffer] = [:]
  private var views: [ViewKey: OpaquePointer] = [:]

  private struct ViewKey: Hashable {
    let buffer: OpaquePointer
    let format: UInt32
    let offset: Int
    let byteCount: Int
  }

  init(_ context: GPUContext, dispatches: Int, texels: Int, storages: Int) throws {
    self.context = context
    var status: Int32 = 0
    let made = tg_recording_begin(
      context.handle,
      UInt32(dispatches),
      UInt32(texels),
      UInt32(storages),
      &status
    )
    guard let made else { throw context.error(tg_status(UInt32(status)), "recording") }
    handle = made
  }

  deinit {
    tg_recording_destroy(handle)
    views.values.forEach { tg_view_destroy($0) }
  }

  /// Nanoseconds after which a device that has not come to its end hangs.
  var patience: Int {
    let options = context.options
    let base = context.device.kind == .software ? 10_000_000_000 : 1_000_000_000
    let compiling = hasRun ? 0 : options.compilingNanoseconds
    return (options.patienceNanoseconds ?? base) + compiling + work * options.nanosecondsPerUnit
  }

  /// A view of part of a buffer, which lives as long as the recording.
  func view(
    _ buffer: GPUBuffer,
    _ format: tg_format,
    offset: Int,
    byteCount: Int
  ) throws -> OpaquePointer {
    let key = ViewKey(
      buffer: buffer.handle,
      format: format.rawValue,
      offset: offset,
      byteCount: byteCount
    )
    if let view = views[key] { return view }
    var status: Int32 = 0
    let made = tg_view_create(
      buffer.handle,
      Int32(format.rawValue),
      UInt64(offset),
      UInt64(byteCount),
      &status
    )
    guard let made else { throw context.error(tg_status(UInt32(status)), "view") }
    views[key] = made
    return made
  }

  /// Keeps memory alive as long as the recording.
  func keep(_ buffer: GPUBuffer) { buffers[buffer.number] = buffer }

  func end() throws {
    guard UInt32(tg_recording_end(handle)) == TG_OK.rawValue else {
      throw context.error(TG_FAILED, "recording")
    }
  }
}
