import Graph

/// Where a program's slots lie in the arena and in staging memory.
struct GPULayout {
  let offsets: [Int]
  let byteCount: Int
  /// Offsets in staging memory by slot, for devices whose memory the processor does not see.
  let stagedInputs: [Int: Int]
  let stagedOutputs: [Int: Int]
  let stagedByteCount: Int

  init(_ program: GPUProgram, alignment: Int) {
    let step = max(alignment, MemoryPlan.alignment)
    func rounded(_ size: Int) -> Int { (size + step - 1) / step * step }
    var lives = [ClosedRange<Int>?](repeating: nil, count: program.slots.count)
    let end = program.dispatches.count
    func extend(_ slot: Int, _ time: Int) {
      let life = lives[slot] ?? time...time
      lives[slot] = min(life.lowerBound, time)...max(life.upperBound, time)
    }
    for (slot, value) in program.slots.enumerated() {
      if value.isInput { extend(slot, 0) }
      if value.isOutput { extend(slot, end) }
    }
    for (time, dispatch) in program.dispatches.enumerated() {
      for operand in dispatch.operands {
        if case .slot(let slot) = operand.range.place { extend(slot, time) }
      }
    }
    let values = lives.enumerated().compactMap { slot, life in
      life.map {
        (node: slot, byteCount: rounded(program.slots[slot].byteCount), lifetime: $0)
      }
    }
    let plan = MemoryPlan(values)
    offsets = program.slots.indices.map { plan.placements[$0]?.offset ?? 0 }
    byteCount = max(plan.byteCount, step)
    var total = 0
    var staged: (inputs: [Int: Int], outputs: [Int: Int]) = ([:], [:])
    for (slot, value) in program.slots.enumerated() {
      if value.isInput {
        staged.inputs[slot] = total
        total += rounded(value.byteCount)
      }
      if value.isOutput {
        staged.outputs[slot] = total
        total += rounded(value.byteCount)
      }
    }
    (stagedInputs, stagedOutputs, stagedByteCount) = (staged.inputs, staged.outputs, total)
  }
}

/// Memory for intermediate results, shared by all programs of a unit: its queue runs one at a time.
final class GPUArena: @unchecked Sendable {
  /// The arena, and staging memory where the processor does not see it.
  struct Memory {
    let buffer: GPUBuffer
    let staging: GPUBuffer?
  }

  private let context: GPUContext
  private var memory: Memory?

  init(_ context: GPUContext) { self.context = context }

  /// Memory of at least these sizes, whatever it holds.
  func atLeast(_ byteCount: Int, staging: Int) throws -> Memory {
    let isUnified = context.device.isUnified
    if let memory, memory.buffer.byteCount >= byteCount,
      isUnified || (memory.staging?.byteCount ?? 0) >= staging
    {
      return memory
    }
    let size = max(byteCount, memory?.buffer.byteCount ?? 0)
    let staged = max(staging, memory?.staging?.byteCount ?? 0)
    memory = nil
    let made = Memory(
      buffer: try GPUBuffer(context, byteCount: size),
      staging: isUnified ? nil : try GPUBuffer(context, byteCount: staged, .host)
    )
    memory = made
    return made
  }
}
