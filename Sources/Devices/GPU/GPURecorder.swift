import CGPU
import Graph

/// Writes a program's command buffers, with a barrier wherever a dispatch meets what one before it
/// wrote or still reads.
struct GPURecorder {
  let context: GPUContext
  let program: GPUProgram
  let layout: GPULayout
  let memory: GPUArena.Memory
  let states: [String: GPUBuffer]

  /// Work after which a new command buffer begins, so that progress can be seen.
  var workLimit = 8_000_000_000

  private struct Span: Hashable {
    let buffer: Int
    let range: Range<Int>

    func overlaps(_ other: Span) -> Bool {
      buffer == other.buffer && range.overlaps(other.range)
    }
  }

  private var read: [Span] = []
  private var written: [Span] = []

  init(
    context: GPUContext,
    program: GPUProgram,
    layout: GPULayout,
    memory: GPUArena.Memory,
    states: [String: GPUBuffer]
  ) {
    self.context = context
    self.program = program
    self.layout = layout
    self.memory = memory
    self.states = states
  }

  mutating func recordings() throws -> [GPURecording] {
    var result: [GPURecording] = []
    var part: [GPUDispatch] = []
    var work = 0
    for dispatch in program.dispatches {
      part.append(dispatch)
      work += dispatch.work
      guard work > workLimit else { continue }
      result.append(try record(part, isFirst: result.isEmpty, isLast: false))
      (part, work) = ([], 0)
    }
    if !part.isEmpty || result.isEmpty || memory.staging != nil {
      result.append(try record(part, isFirst: result.isEmpty, isLast: true))
    }
    return result
  }

  private mutating func record(
    _ dispatches: [GPUDispatch],
    isFirst: Bool,
    isLast: Bool
  ) throws -> GPURecording {
    let operands = dispatches.flatMap(\.operands)
    let recording = try GPURecording(
      context,
      dispatches: dispatches.count,
      texels: operands.count { $0.format != nil },
      storages: operands.count { $0.format == nil }
    )
    recording.keep(memory.buffer)
    recording.work = dispatches.reduce(0) { $0 + $1.work }
    if isFirst { copy(layout.stagedInputs, toDevice: true, recording) }
    tg_record_barrier(recording.handle)
    (read, written) = ([], [])
    for dispatch in dispatches { try add(dispatch, to: recording) }
    tg_record_barrier(recording.handle)
    if isLast, memory.staging != nil {
      copy(layout.stagedOutputs, toDevice: false, recording)
      tg_record_barrier(recording.handle)
    }
    try recording.end()
    return recording
  }

  private func copy(_ offsets: [Int: Int], toDevice: Bool, _ recording: GPURecording) {
    guard let staging = memory.staging else { return }
    recording.keep(staging)
    for (slot, offset) in offsets.sorted(by: { $0.key < $1.key }) {
      let size = UInt64(program.slots[slot].byteCount)
      let place = UInt64(layout.offsets[slot])
      if toDevice {
        tg_record_copy(
          recording.handle,
          staging.handle,
          UInt64(offset),
          memory.buffer.handle,
          place,
          size
        )
      } else {
        tg_record_copy(
          recording.handle,
          memory.buffer.handle,
          place,
          staging.handle,
          UInt64(offset),
          size
        )
      }
    }
  }

  private func resolve(_ range: GPURange) throws -> (buffer: GPUBuffer, offset: Int) {
    switch range.place {
    case .slot(let slot): return (memory.buffer, layout.offsets[slot] + range.byteOffset)
    case .constant(let index): return (program.constants[index], range.byteOffset)
    case .state(let name):
      guard let buffer = states[name] else {
        throw context.error(TG_FAILED, program.graph.name)
      }
      return (buffer, range.byteOffset)
    }
  }

  private mutating func add(_ dispatch: GPUDispatch, to recording: GPURecording) throws {
    var bindings: [tg_binding] = []
    var reads: [Span] = []
    var writes: [Span] = []
    for operand in dispatch.operands {
      let (buffer, offset) = try resolve(operand.range)
      recording.keep(buffer)
      let size = min((operand.range.byteCount + 15) / 16 * 16, buffer.byteCount - offset)
      let span = Span(buffer: buffer.number, range: offset..<offset + operand.range.byteCount)
      if operand.isRead { reads.append(span) }
      if operand.isWritten { writes.append(span) }
      if let format = operand.format {
        let view = try recording.view(buffer, format, offset: offset, byteCount: size)
        bindings.append(tg_binding(view: view, buffer: nil, offset: 0, size: 0))
      } else {
        bindings.append(
          tg_binding(view: nil, buffer: buffer.handle, offset: UInt64(offset), size: UInt64(size))
        )
      }
    }
    let meets =
      reads.contains { span in written.contains { $0.overlaps(span) } }
      || writes.contains { span in
        written.contains { $0.overlaps(span) } || read.contains { $0.overlaps(span) }
      }
    if meets {
      tg_record_barrier(recording.handle)
      (read, written) = ([], [])
    }
    read += reads
    written += writes
    let status = tg_record_dispatch(
      recording.handle,
      try context.pipeline(dispatch.pipeline),
      bindings,
      dispatch.push,
      UInt32(dispatch.groups.x),
      UInt32(dispatch.groups.y),
      UInt32(dispatch.groups.z)
    )
    guard UInt32(status) == TG_OK.rawValue else {
      throw context.error(tg_status(UInt32(status)), program.graph.name)
    }
  }
}
