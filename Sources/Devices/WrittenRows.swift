public import Graph

/// The rows of caches that one launch of a graph writes.
public struct WrittenRows: Sendable {
  /// The pieces of caches, each contiguous; they share the caches' memory.
  public let pieces: [(name: String, rows: Value)]

  /// Finds the rows.
  ///
  /// A state that is no cache update, or one whose place is not bound, counts as written whole.
  public init(of graph: Graph, _ bindings: [String: Value]) {
    var pieces: [(name: String, rows: Value)] = []
    for output in graph.outputs where output.isState {
      guard let state = bindings[output.name] else { continue }
      let update = graph.nodes[output.node]
      guard update.op == .cacheUpdate,
        let position = bindings[graph.nodes[update.inputs[2]].name]?.integers.first,
        let count = bindings[graph.nodes[update.inputs[3]].name]?.integers.first
      else {
        pieces.append((output.name, state))
        continue
      }
      let rows = state.type.shape[0]
      let most = min(rows, graph.nodes[update.inputs[1]].type.shape[0])
      let written = min(most, max(Int(count), 0))
      let start = Int(position) % rows
      let first = min(written, rows - start)
      pieces.append((output.name, state.rows(start, count: first)))
      if written > first { pieces.append((output.name, state.rows(0, count: written - first))) }
    }
    self.pieces = pieces
  }

  /// A copy of the rows as they are now.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  public func kept() throws(DeviceError) -> Buffer {
    let size = pieces.reduce(0) { $0 + $1.rows.type.byteCount }
    let buffer = try Buffer(byteCount: max(size, 1))
    var offset = 0
    for piece in pieces {
      let count = piece.rows.type.byteCount
      (buffer.pointer + offset).copyMemory(from: piece.rows.pointer, byteCount: count)
      offset += count
    }
    return buffer
  }

  /// Puts the rows back as they were.
  public func restore(_ kept: Buffer) {
    var offset = 0
    for piece in pieces {
      let count = piece.rows.type.byteCount
      piece.rows.pointer.copyMemory(from: kept.pointer + offset, byteCount: count)
      offset += count
    }
  }
}

extension Value {
  /// Whether any number is NaN; false for integers.
  ///
  /// - Complexity: one pass over the memory.
  public var containsNaN: Bool {
    let count = type.shape.elementCount
    switch type.dtype {
    case .f32:
      let bits = pointer.assumingMemoryBound(to: Int32.self)
      var signs: Int32 = -1
      for index in 0..<count { signs &= (bits[index] & 0x7FFF_FFFF) &- 0x7F80_0001 }
      return signs >= 0
    case .f16:
      let bits = pointer.assumingMemoryBound(to: Int16.self)
      var signs: Int16 = -1
      for index in 0..<count { signs &= (bits[index] & 0x7FFF) &- 0x7C01 }
      return signs >= 0
    default: return false
    }
  }

  /// Makes every number NaN, of f32 and f16 values.
  func fillWithNaN() {
    let count = type.shape.elementCount
    switch type.dtype {
    case .f32:
      pointer.assumingMemoryBound(to: Float.self).update(repeating: .nan, count: count)
    case .f16:
      pointer.assumingMemoryBound(to: UInt16.self).update(repeating: 0x7E00, count: count)
    default: break
    }
  }
}
