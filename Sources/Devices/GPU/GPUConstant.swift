import Graph

/// A value known when a program is compiled.
enum GPUConstant {
  /// Where the weight source holds it.
  case mapped(UnsafeRawPointer, TensorType)
  /// As numbers.
  case literal([Float], TensorType)

  /// Its numbers, row-major.
  var numbers: [Float] {
    switch self {
    case .mapped(let bytes, let type): ElementCoding.decode(bytes, type)
    case .literal(let numbers, _): numbers
    }
  }
}

extension GPULowering {
  /// The name of the weight that a constant is a view of, or its own.
  func weightName(_ id: Int) -> String {
    let node = graph.nodes[id]
    if case .constant(.weight(let name)) = node.op { return name }
    return node.inputs.first.map { weightName($0) } ?? node.name
  }

  /// The value of a constant or of a view of one.
  ///
  /// - Throws: where the source cannot give its bytes.
  func constant(_ id: Int) throws -> GPUConstant {
    let node = graph.nodes[id]
    switch node.op {
    case .constant(.literal(let numbers)): return .literal(numbers, node.type)
    case .constant(.weight(let name)):
      guard let source else {
        let zeros = [Float](repeating: 0, count: node.type.shape.elementCount)
        return .literal(zeros, node.type)
      }
      guard let base = try source.bytes(of: name).baseAddress else {
        throw declined(node, "has no bytes")
      }
      return .mapped(base, node.type)
    case .reshape:
      switch try constant(node.inputs[0]) {
      case .mapped(let bytes, _): return .mapped(bytes, node.type)
      case .literal(let numbers, _): return .literal(numbers, node.type)
      }
    case .slice(_, let start, let count):
      let inner = node.type.shape.elementCount / max(count, 1)
      switch try constant(node.inputs[0]) {
      case .mapped(let bytes, let type):
        let row = type.dtype.byteCount(of: type.shape.replacingFirst(with: 1))
        return .mapped(bytes + start * row, node.type)
      case .literal(let numbers, _):
        return .literal(Array(numbers[start * inner..<(start + count) * inner]), node.type)
      }
    case .cast(let dtype):
      let numbers = try constant(node.inputs[0]).numbers
      return .literal(numbers.map { ElementCoding.rounded($0, to: dtype) }, node.type)
    default: throw declined(node, "is no constant")
    }
  }
}
