import Devices
import Graph

/// How fast a unit multiplies matrices: many rows, where it computes, and one, where it reads.
struct UnitRate: Hashable, Codable, Sendable {
  /// Floating-point operations a second, a multiply-add counted as two.
  let flopsPerSecond: Double
  /// Bytes of weights a second, f16 as stored.
  let weightBytesPerSecond: Double

  init(flopsPerSecond: Double, weightBytesPerSecond: Double) {
    self.flopsPerSecond = flopsPerSecond
    self.weightBytesPerSecond = weightBytesPerSecond
  }

  /// Measures a unit: the shortest of a few launches, which other work on the machine disturbs
  /// least, after one in which drivers compile.
  ///
  /// - Throws: where the unit does not run a linear operation.
  init(measuring unit: any ComputeUnit) throws {
    let (wide, square) = (TensorType(.f16, [8192, 2048]), TensorType(.f16, [1024, 1024]))
    let rows = 512
    let one = try Self.nanoseconds(rows: 1, ProbeWeight(type: wide), on: unit)
    let many = try Self.nanoseconds(rows: rows, ProbeWeight(type: square), on: unit)
    let flops = 2 * rows * square.shape.elementCount
    flopsPerSecond = Double(flops) * 1e9 / Double(max(many, 1))
    weightBytesPerSecond = Double(wide.byteCount) * 1e9 / Double(max(one, 1))
  }

  private static let launches = 9

  private static func nanoseconds(
    rows: Int,
    _ weight: ProbeWeight,
    on unit: any ComputeUnit
  ) throws -> Int {
    let input = TensorType(.f32, [rows, weight.type.shape[1]])
    var graph = Graph(name: "probe\(rows)")
    let left = graph.append(source: .input, type: input, name: "input")
    let right = graph.append(
      source: .constant(.weight("probe")),
      type: weight.type,
      name: "weight"
    )
    let product = try graph.append(.linear, [left, right], name: "product")
    graph.addOutput("result", product)
    let executable = try unit.compile(
      Segment(unit: unit.profile.unit, graph: graph),
      over: weight
    )
    let values = [
      "input": try Value([Float](repeating: 0.5, count: input.shape.elementCount), input.shape),
      "result": try Value(graph.nodes[product].type),
    ]
    let times = try (0...launches).map { _ in
      let start = MonotonicClock.nanoseconds
      try unit.wait(for: try executable.launch(values, after: []))
      return MonotonicClock.nanoseconds - start
    }
    return times.dropFirst().min() ?? 1
  }
}

/// A weight of one number.
private struct ProbeWeight: WeightSource {
  let type: TensorType
  private let buffer: Buffer

  init(type: TensorType) throws {
    self.type = type
    buffer = try Buffer(byteCount: type.byteCount)
    // 0x2C2C is 0.065 in f16.
    buffer.pointer.initializeMemory(as: UInt8.self, repeating: 0x2C, count: buffer.byteCount)
  }

  func type(of name: String) -> TensorType? { type }

  func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: buffer.pointer, count: buffer.byteCount)
  }
}
