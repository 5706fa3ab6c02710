public import Graph

/// Naive loops with wide accumulation: the meaning of every operation, written to be read.
public struct ReferenceUnit: ComputeUnit {
  private let queue = UnitQueue(unit: .reference)

  /// The unit.
  public init() {}

  /// Every operation, dense activations, every weight format.
  public let profile = UnitProfile(
    unit: .reference,
    summary: "naive loops that define every operation",
    activationTypes: [.f32, .f16, .bf16, .i32],
    weightTypes: Set(DType.allCases)
  )

  /// Reads all constants of a segment.
  ///
  /// - Throws: where a constant cannot be read or an operation is declined.
  public func compile(
    _ segment: Segment,
    over source: any WeightSource
  ) throws -> any Executable {
    try segment.graph.checkVerdicts(of: profile)
    return ReferenceExecutable(graph: segment.graph, source: source, queue: queue)
  }

  /// Copies bytes.
  public func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    queue.submit("copy", after: after) {
      target.pointer.copyMemory(from: source.pointer, byteCount: source.type.byteCount)
    }
  }
}

extension Graph {
  /// Refuses a graph that a unit does not run as a whole.
  ///
  /// - Throws: `DeviceError.declined` naming the first operation.
  func checkVerdicts(of profile: UnitProfile) throws(DeviceError) {
    for node in nodes where !node.isSource {
      if case .declines(let reason) = profile.verdict(node, in: self) {
        throw .declined(unit: profile.unit.name, node: node.name, reason: reason)
      }
    }
  }
}

private struct ReferenceExecutable: Executable {
  let graph: Graph
  let source: any WeightSource
  let queue: UnitQueue
  let footprint = Footprint()

  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
    try graph.check(bindings)
    return queue.submit(graph.name, after: after) { try run(bindings) }
  }

  private func run(_ bindings: [String: Value]) throws {
    var values: [Int: ReferenceTensor] = [:]
    for node in graph.nodes {
      switch node.op {
      case .input:
        guard let value = bindings[node.name] else { continue }
        values[node.id] = ReferenceTensor(value.pointer, node.type)
      // Of a table only the rows that are taken are read.
      case .constant(.weight) where graph.isOnlyGathered(node.id): continue
      case .gather where graph.isOnlyGathered(node.inputs[0]):
        values[node.id] = try gather(node, values[node.inputs[1]])
      case .constant(.weight(let name)):
        guard let base = try source.bytes(of: name).baseAddress else { continue }
        values[node.id] = ReferenceTensor(base, node.type)
      case .constant(.literal(let numbers)):
        values[node.id] = ReferenceTensor(type: node.type, numbers: numbers)
      default:
        let operands = node.inputs.compactMap { values[$0] }
        var result = ReferenceTensor(
          type: node.type,
          numbers: node.op.evaluate(operands, as: node.type.shape)
        )
        result.round()
        values[node.id] = result
      }
    }
    for output in graph.outputs {
      guard let target = bindings[output.name], let value = values[output.node] else { continue }
      value.store(to: target.pointer)
    }
  }

  private func gather(_ node: Node, _ ids: ReferenceTensor?) throws -> ReferenceTensor {
    let table = graph.nodes[node.inputs[0]]
    guard case .constant(.weight(let name)) = table.op, let ids,
      let base = try source.bytes(of: name).baseAddress
    else { return ReferenceTensor(type: node.type, numbers: []) }
    let width = table.type.shape.elementCount / max(table.type.shape[0], 1)
    let numbers = ids.numbers.flatMap { id -> [Float] in
      let index = Int(id)
      guard index >= 0, index < table.type.shape[0] else {
        return [Float](repeating: 0, count: width)
      }
      return ElementCoding.decode(
        base,
        table.type,
        elements: index * width..<(index + 1) * width
      )
    }
    return ReferenceTensor(type: node.type, numbers: numbers)
  }
}

extension Graph {
  /// Whether a node is a named constant that is only a table of gathers.
  fileprivate func isOnlyGathered(_ id: Int) -> Bool {
    guard case .constant(.weight) = nodes[id].op else { return false }
    let readers = nodes.filter { $0.inputs.contains(id) }
    return !readers.isEmpty && readers.allSatisfy { $0.op == .gather && $0.inputs[0] == id }
  }
}

/// A tensor as plain numbers; integers up to 2^24 are exact.
struct ReferenceTensor {
  let type: TensorType
  var numbers: [Float]

  init(type: TensorType, numbers: [Float]) {
    self.type = type
    self.numbers = numbers
  }

  init(_ pointer: UnsafeRawPointer, _ type: TensorType) {
    self.init(type: type, numbers: ElementCoding.decode(pointer, type))
  }

  var shape: Shape { type.shape }
  var rows: Int { shape.rowCount }
  var width: Int { shape.last }

  /// An integer operand of one element.
  var scalar: Int { Int(numbers[0]) }

  mutating func round() {
    if type.dtype == .f16 || type.dtype == .bf16 {
      numbers = numbers.map { ElementCoding.rounded($0, to: type.dtype) }
    }
  }

  func store(to target: UnsafeMutableRawPointer) {
    if type.dtype == .i32 {
      for (index, value) in numbers.enumerated() {
        target.storeBytes(of: Int32(value), toByteOffset: 4 * index, as: Int32.self)
      }
    } else {
      ElementCoding.encode(numbers, type.dtype, to: target)
    }
  }
}
