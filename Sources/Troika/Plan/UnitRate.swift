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

  /// Measures units side by side: of each the shortest of a few launches, after one in which drivers
  /// compile.
  ///
  /// The units take turns, so that other work on the machine falls on all of them alike.
  ///
  /// - Returns: a rate for each unit, in their order.
  /// - Throws: where a unit does not run a linear operation.
  static func measuring(_ units: [any ComputeUnit]) throws -> [UnitRate] {
    let (wide, square) = (TensorType(.f16, [8192, 2048]), TensorType(.f16, [1024, 1024]))
    let rows = 512
    let one = try nanoseconds(rows: 1, ProbeWeight(type: wide), on: units)
    let many = try nanoseconds(rows: rows, ProbeWeight(type: square), on: units)
    let flops = 2 * rows * square.shape.elementCount
    return zip(one, many).map { one, many in
      UnitRate(
        flopsPerSecond: Double(flops) * 1e9 / Double(max(many, 1)),
        weightBytesPerSecond: Double(wide.byteCount) * 1e9 / Double(max(one, 1))
      )
    }
  }

  private static let launches = 9

  private static func nanoseconds(
    rows: Int,
    _ weight: ProbeWeight,
    on units: [any ComputeUnit]
  ) throws -> [Int] {
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
    let values = [
      "input": try Value([Float](repeating: 0.5, count: input.shape.elementCount), input.shape),
      "result": try Value(graph.nodes[product].type),
    ]
    let executables = try units.map { unit in
      try unit.compile(Segment(unit: unit.profile.unit, graph: graph), over: weight)
    }
    var shortest = [Int](repeating: .max, count: units.count)
    for launch in 0...launches {
      for (index, executable) in executables.enumerated() {
        let start = MonotonicClock.nanoseconds
        try units[index].wait(for: try executable.launch(values, after: []))
        guard launch > 0 else { continue }
        shortest[index] = min(shortest[index], MonotonicClock.nanoseconds - start)
      }
    }
    return shortest
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
