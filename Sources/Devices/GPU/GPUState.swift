import CGPU
import Graph

/// A cache as the device sees it: imported where it lies, or a copy that follows it.
///
/// Belongs to the cache's buffer and dies with it, together with the command buffers that use it.
final class GPUState: @unchecked Sendable {
  /// Which command buffers: those of a program for an arena and some states.
  struct Key: Hashable {
    let executable: Int
    let arena: Int
    let states: [Int]
  }

  let buffer: GPUBuffer
  let number = GPUSerial.next()
  private let isCopy: Bool
  private let known = Protected<(order: [Key], byKey: [Key: [GPURecording]])>(([], [:]))

  private static let capacity = 64

  private init(_ buffer: GPUBuffer, isCopy: Bool) {
    self.buffer = buffer
    self.isCopy = isCopy
  }

  /// The state of a value, made when first needed.
  static func of(_ value: Value, _ context: GPUContext) throws -> GPUState {
    try value.buffer.companion(of: context) { () throws -> GPUState in
      if value.byteOffset == 0,
        let imported = GPUBuffer(
          context,
          importing: value.buffer.memory,
          byteCount: value.buffer.memory.byteCount
        )
      {
        return GPUState(imported, isCopy: false)
      }
      let size = value.byteOffset + value.type.byteCount
      return GPUState(try GPUBuffer(context, byteCount: size, .host), isCopy: true)
    }
  }

  /// Takes over what the processor wrote.
  func readHost(_ value: Value) {
    guard isCopy, let pointer = buffer.pointer else { return }
    pointer.copyMemory(from: value.pointer, byteCount: value.type.byteCount)
  }

  /// Gives the processor what the device wrote.
  func writeHost(_ value: Value) {
    guard isCopy, let pointer = buffer.pointer else { return }
    value.pointer.copyMemory(from: pointer, byteCount: value.type.byteCount)
  }

  func recordings(_ key: Key) -> [GPURecording]? { known.update { $0.byKey[key] } }

  func keep(_ recordings: [GPURecording], _ key: Key) {
    known.update { known in
      if known.order.count >= Self.capacity { known.byKey[known.order.removeFirst()] = nil }
      known.order.append(key)
      known.byKey[key] = recordings
    }
  }
}
