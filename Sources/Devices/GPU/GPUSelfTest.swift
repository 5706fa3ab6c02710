import Foundation
import Graph

/// Small programs, one an operation, that a device has to get right before it is given any.
struct GPUSelfTest {
  /// An operation's program with its inputs.
  struct Problem {
    let kind: String
    let label: String
    let graph: Graph
    let inputs: [String: Value]
  }

  /// Why an operation is declined: its kind, and what came of it.
  struct Failure: Hashable, Codable {
    let kind: String
    let reason: String
  }

  /// Largest difference allowed, in units of the last place that f16 keeps, of numbers above a
  /// 64th of the largest.
  static let bound: Float = 2

  let weights = GPUSelfTestWeights()
  private(set) var problems: [Problem] = []

  init() throws {
    try addElementwise()
    try addRows()
    try addProducts()
    try addAttention()
    try addMovement()
  }

  /// Runs every problem, or those of one operation, on a unit and the Reference unit.
  ///
  /// - Returns: the operations that differ by more than the bound, or do not run.
  func failures(
    ofKind kind: String? = nil,
    _ compile: (Graph, any WeightSource) throws -> any Executable
  ) throws -> [Failure] {
    let reference = ReferenceUnit()
    return try problems.compactMap { problem in
      guard kind == nil || problem.kind == kind else { return nil }
      let rounded = try problem.graph.applying([HalfStorage()])
      let expected = try Self.run(
        reference.compile(Segment(unit: .reference, graph: rounded), over: weights),
        problem
      )
      do {
        let got = try Self.run(compile(problem.graph, weights), problem)
        let worst = Self.worst(expected, got)
        guard worst > Self.bound else { return nil }
        return Failure(
          kind: problem.kind,
          reason: "\(problem.label) is off by \(worst) units in the last place, "
            + "\(Self.bound) allowed"
        )
      } catch {
        return Failure(kind: problem.kind, reason: "\(problem.label): \(error)")
      }
    }
  }

  private static func run(_ executable: any Executable, _ problem: Problem) throws -> [Float] {
    var values = problem.inputs
    for output in problem.graph.outputs where values[output.name] == nil {
      values[output.name] = try Value(problem.graph.nodes[output.node].type)
    }
    try executable.launch(values, after: []).wait()
    return values["result"]?.floats ?? []
  }

  static func worst(_ expected: [Float], _ got: [Float]) -> Float {
    guard expected.count == got.count else { return .infinity }
    let scale = expected.reduce(Float(0)) { max($0, abs($1)) }
    let floor = max(scale / 64, 6.1e-5)
    return zip(expected, got).reduce(Float(0)) { worst, pair in
      let difference = abs(pair.0 - pair.1) / (max(abs(pair.0), floor) * 0x1p-10)
      return difference.isNaN ? .infinity : max(worst, difference)
    }
  }

  /// Adds a problem whose result is the last operation's.
  mutating func add(
    _ op: Op,
    _ label: String? = nil,
    _ body: (inout GPUSelfTestBuilder) throws -> [Int]
  ) throws {
    var builder = GPUSelfTestBuilder(name: op.kind, weights: weights)
    let inputs = try body(&builder)
    let node = try builder.graph.append(op, inputs, name: op.kind)
    builder.graph.addOutput("result", node)
    problems.append(
      Problem(
        kind: op.kind,
        label: label ?? op.kind,
        graph: builder.graph,
        inputs: builder.inputs
      )
    )
  }
}

/// Writes down a self-test's program.
struct GPUSelfTestBuilder {
  var graph: Graph
  private(set) var inputs: [String: Value] = [:]
  private let weights: GPUSelfTestWeights
  private var random = GPUSelfTestNumbers(state: 11)

  init(name: String, weights: GPUSelfTestWeights) {
    graph = Graph(name: name)
    self.weights = weights
  }

  /// An input of random numbers that f16 holds.
  mutating func numbers(_ shape: Shape) throws -> Int {
    let values = (0..<shape.elementCount).map { _ in
      ElementCoding.rounded(random.next() * 2, to: .f16)
    }
    return add(try Value(values, shape))
  }

  mutating func integers(_ values: [Int32], _ shape: Shape) throws -> Int {
    add(try Value(values, shape))
  }

  private mutating func add(_ value: Value) -> Int {
    let name = "input\(inputs.count)"
    inputs[name] = value
    return graph.append(source: .input, type: value.type, name: name)
  }

  /// A constant of the weight source.
  mutating func weight(_ dtype: DType, _ shape: Shape) throws -> Int {
    let type = TensorType(dtype, shape)
    let name = try weights.add(type)
    return graph.append(source: .constant(.weight(name)), type: type, name: name)
  }

  mutating func literal(_ values: [Float]) -> Int {
    let type = TensorType(.f32, [values.count])
    return graph.append(source: .constant(.literal(values)), type: type, name: "literal")
  }
}

/// A small generator of numbers from -1 to 1.
struct GPUSelfTestNumbers {
  var state: UInt64

  mutating func next() -> Float {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Float(Int32(truncatingIfNeeded: state >> 32)) / Float(Int32.max)
  }
}

/// Random weights in every format.
final class GPUSelfTestWeights: WeightSource {
  private let tensors = Protected<[String: Buffer]>([:])

  /// Makes a tensor and returns its name.
  func add(_ type: TensorType) throws -> String {
    let buffer = try Buffer(byteCount: type.byteCount)
    var random = GPUSelfTestNumbers(state: UInt64(type.byteCount))
    if type.dtype.isDense {
      let numbers = (0..<type.shape.elementCount).map { _ in random.next() }
      ElementCoding.encode(numbers, type.dtype, to: buffer.pointer)
    } else {
      let count = type.shape.elementCount
      let isByte = type.dtype == .int8Block32 || type.dtype == .int8Row
      let codes = isByte ? count : count / 2
      for index in 0..<codes {
        let byte = UInt8(truncatingIfNeeded: Int(random.next() * 127))
        buffer.pointer.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
      }
      for offset in stride(from: codes, to: type.byteCount - 1, by: 2) {
        let half = ElementCoding.narrow(half: (random.next() + 1.5) * 0.01)
        buffer.pointer.storeBytes(of: half, toByteOffset: offset, as: UInt16.self)
      }
    }
    return tensors.update { tensors in
      let name = "weight\(tensors.count)"
      tensors[name] = buffer
      return name
    }
  }

  func type(of name: String) -> TensorType? { nil }

  func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard let buffer = tensors.update({ $0[name] }) else { throw GraphError.missingWeight(name) }
    return UnsafeRawBufferPointer(start: buffer.pointer, count: buffer.byteCount)
  }
}
