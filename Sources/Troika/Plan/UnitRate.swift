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

  /// Measures a unit: the medians of a few launches, after one that is not counted.
  ///
  /// - Throws: where the unit does not run a linear operation.
  init(measuring unit: any ComputeUnit) throws {
    let weight = try ProbeWeight()
    let many = try Self.nanoseconds(rows: Self.rows, weight, on: unit)
    let one = try Self.nanoseconds(rows: 1, weight, on: unit)
    let flops = 2 * Self.rows * ProbeWeight.type.shape.elementCount
    flopsPerSecond = Double(flops) * 1e9 / Double(max(many, 1))
    weightBytesPerSecond = Double(ProbeWeight.type.byteCount) * 1e9 / Double(max(one, 1))
  }

  private static let rows = 64
  private static let launches = 5

  private static func nanoseconds(
    rows: Int,
    _ weight: ProbeWeight,
    on unit: any ComputeUnit
  ) throws -> Int {
    let input = TensorType(.f32, [rows, ProbeWeight.type.shape[1]])
    var graph = Graph(name: "probe\(rows)")
    let left = graph.append(source: .input, type: input, name: "input")
    let right = graph.append(
      source: .constant(.weight("probe")),
      type: ProbeWeight.type,
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
    return times.dropFirst().sorted()[launches / 2]
  }
}

/// A weight of 16 MiB.
private struct ProbeWeight: WeightSource {
  static let type = TensorType(.f16, [4096, 2048])
  private let buffer: Buffer

  init() throws {
    buffer = try Buffer(byteCount: Self.type.byteCount)
    // 0x2C2C is 0.065 in f16.
    buffer.pointer.initializeMemory(as: UInt8.self, repeating: 0x2C, count: buffer.byteCount)
  }

  func type(of name: String) -> TensorType? { Self.type }

  func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: buffer.pointer, count: buffer.byteCount)
  }
}
