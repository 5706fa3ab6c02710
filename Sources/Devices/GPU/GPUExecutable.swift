import CGPU
import Foundation
import Graph

/// A segment lowered to dispatches, recorded once and replayed.
final class GPUExecutable: Executable, @unchecked Sendable {
  private let context: GPUContext
  private let arena: GPUArena
  private let queue: UnitQueue
  let program: GPUProgram
  let layout: GPULayout
  /// Keeps packed weights and what they were made from alive.
  private let matrices: [GPUMatrix]
  private let source: any WeightSource
  private let number = GPUSerial.next()
  /// Command buffers of a program without states, and the arena they are written for.
  private var own: (arena: GPUBuffer, recordings: [GPURecording])?

  init(
    _ lowering: GPULowering,
    arena: GPUArena,
    queue: UnitQueue,
    source: any WeightSource
  ) throws {
    context = lowering.context
    self.arena = arena
    self.queue = queue
    self.source = source
    program = lowering.program
    matrices = lowering.matrices
    footprint = lowering.footprint
    layout = GPULayout(lowering.program, alignment: lowering.context.device.alignment)
    for dispatch in program.dispatches { _ = try context.pipeline(dispatch.pipeline) }
  }

  let footprint: Footprint

  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
    try program.graph.check(bindings)
    return queue.submit(program.graph.name, after: after) { try self.run(bindings) }
  }

  private func run(_ bindings: [String: Value]) throws {
    let memory = try arena.atLeast(layout.byteCount, staging: layout.stagedByteCount)
    let states = try program.states.map { name -> GPUState in
      guard let value = bindings[name] else {
        throw context.error(TG_FAILED, program.graph.name)
      }
      return try GPUState.of(value, context)
    }
    let recordings = try recordings(memory, states)
    try upload(bindings, memory)
    for (state, name) in zip(states, program.states) {
      if let value = bindings[name] { state.readHost(value) }
    }
    try context.run(recordings, program: program.graph.name)
    for output in program.outputs {
      guard let value = bindings[output.name], case .slot(let slot) = output.range.place,
        let source = pointer(slot, memory, isInput: false)
      else { continue }
      value.pointer.copyMemory(
        from: source + output.range.byteOffset,
        byteCount: value.type.byteCount
      )
    }
    for (state, name) in zip(states, program.states) where program.writtenStates.contains(name) {
      if let value = bindings[name] { state.writeHost(value) }
    }
  }

  /// Where the processor puts or finds a slot's bytes.
  private func pointer(
    _ slot: Int,
    _ memory: GPUArena.Memory,
    isInput: Bool
  ) -> UnsafeMutableRawPointer? {
    if let staging = memory.staging {
      let offsets = isInput ? layout.stagedInputs : layout.stagedOutputs
      return offsets[slot].flatMap { offset in staging.pointer.map { $0 + offset } }
    }
    return memory.buffer.pointer.map { $0 + layout.offsets[slot] }
  }

  private func upload(_ bindings: [String: Value], _ memory: GPUArena.Memory) throws {
    for input in program.inputs {
      guard let value = bindings[input.name],
        let target = pointer(input.slot, memory, isInput: true)
      else { continue }
      target.copyMemory(from: value.pointer, byteCount: input.byteCount)
    }
    for gather in program.gathers {
      guard let ids = bindings[gather.ids],
        let target = pointer(gather.slot, memory, isInput: true)
      else { continue }
      let rows = gather.type.shape[0]
      let width = gather.type.shape.elementCount / rows
      for (index, id) in ids.integers.prefix(gather.count).enumerated() {
        let place = (target + index * width * 4).assumingMemoryBound(to: Float.self)
        let elements = Int(id) * width..<(Int(id) + 1) * width
        let numbers =
          id >= 0 && Int(id) < rows
          ? ElementCoding.decode(gather.table, gather.type, elements: elements)
          : [Float](repeating: 0, count: width)
        numbers.withUnsafeBufferPointer { source in
          if let base = source.baseAddress { place.update(from: base, count: width) }
        }
      }
    }
  }

  /// Command buffers for this arena and these states, written when first needed.
  private func recordings(
    _ memory: GPUArena.Memory,
    _ states: [GPUState]
  ) throws -> [GPURecording] {
    if let first = states.first {
      let key = GPUState.Key(
        executable: number,
        arena: memory.buffer.number,
        states: states.map(\.number)
      )
      if let known = first.recordings(key) { return known }
      let made = try record(memory, states)
      first.keep(made, key)
      return made
    }
    if let own, own.arena === memory.buffer { return own.recordings }
    let made = try record(memory, states)
    own = (memory.buffer, made)
    return made
  }

  /// Runs each dispatch by itself.
  ///
  /// - Parameters:
  ///   - bindings: a value for every input and output.
  ///   - clock: what is read before and after each.
  /// - Returns: what the clock says of each, of a launch without staging.
  /// - Throws: where a dispatch fails.
  func profile(
    _ bindings: [String: Value],
    clock: () -> Int = { MonotonicClock.nanoseconds }
  ) throws -> [(shader: GPUShader, nanoseconds: Int)] {
    let memory = try arena.atLeast(layout.byteCount, staging: layout.stagedByteCount)
    let states = try program.states.compactMap { name in
      try bindings[name].map { try GPUState.of($0, context) }
    }
    try upload(bindings, memory)
    var result: [(shader: GPUShader, nanoseconds: Int)] = []
    for (dispatch, recording) in zip(
      program.dispatches,
      try record(memory, states, workLimit: -1)
    ) {
      let start = clock()
      try context.run([recording], program: program.graph.name)
      result.append((dispatch.pipeline.shader, clock() - start))
    }
    return result
  }

  private func record(
    _ memory: GPUArena.Memory,
    _ states: [GPUState],
    workLimit: Int = 8_000_000_000
  ) throws -> [GPURecording] {
    let buffers = Dictionary(uniqueKeysWithValues: zip(program.states, states.map(\.buffer)))
    var recorder = GPURecorder(
      context: context,
      program: program,
      layout: layout,
      memory: memory,
      states: buffers
    )
    recorder.workLimit = workLimit
    return try recorder.recordings()
  }
}

/// Numbers that are never given twice in a process.
enum GPUSerial {
  private static let last = Protected(0)

  static func next() -> Int {
    last.update { value in
      value += 1
      return value
    }
  }
}
