import Devices
public import Graph

/// How fast a unit multiplies and reads at most, by its own kernels, beside the stages it is held to.
public struct UnitLimit: Hashable, Sendable {
  /// The unit.
  public let unit: UnitID
  /// Floating-point operations a second of a product of many rows.
  public let flopsPerSecond: Double
  /// Bytes of f16 weights a second of a product of one row, more of them than caches hold.
  public let bytesPerSecond: Double

  /// A limit from its parts.
  public init(unit: UnitID, flopsPerSecond: Double, bytesPerSecond: Double) {
    self.unit = unit
    self.flopsPerSecond = flopsPerSecond
    self.bytesPerSecond = bytesPerSecond
  }

  /// Measures units in turns: of each the shortest of a few launches.
  ///
  /// - Returns: a limit for each unit, in their order.
  /// - Throws: where a unit does not run a linear operation.
  static func measuring(
    _ units: [UnitID],
    in registry: Registry,
    _ timer: ProgramTimer
  ) throws -> [UnitLimit] {
    var timer = timer
    timer.repeats = min(timer.repeats, 7)
    timer.fewest = min(timer.fewest, timer.repeats)
    timer.budgetNanoseconds = min(timer.budgetNanoseconds, 2_000_000_000)
    let square = TensorType(.f16, [2048, 2048])
    let wide = TensorType(.f16, [16_384, 8192])
    func shortest(_ rows: (UnitID) -> Int, _ type: TensorType) throws -> [Int] {
      let weight = try NoiseWeight(type)
      let programs = try units.map { unit in
        try TimedProgram(
          Self.product(rows: rows(unit), type),
          over: weight,
          on: unit,
          units: registry
        )
      }
      return try timer.time(programs).map { max($0.steady.min() ?? 1, 1) }
    }
    // Plain loops are held to a few rows: they reach the same rate with any number.
    let rows = { (unit: UnitID) in unit == .reference ? 2 : 512 }
    let many = try shortest(rows, square)
    let one = try shortest({ _ in 1 }, wide)
    return units.indices.map { index in
      let flops = 2 * rows(units[index]) * square.shape.elementCount
      return UnitLimit(
        unit: units[index],
        flopsPerSecond: Double(flops) * 1e9 / Double(many[index]),
        bytesPerSecond: Double(wide.byteCount) * 1e9 / Double(one[index])
      )
    }
  }

  private static func product(rows: Int, _ weight: TensorType) throws -> Graph {
    var graph = Graph(name: "limit\(rows)")
    let type = TensorType(.f32, [rows, weight.shape[1]])
    let left = graph.append(source: .input, type: type, name: "input")
    let right = graph.append(source: .constant(.weight("limit")), type: weight, name: "weight")
    graph.addOutput("result", try graph.append(.linear, [left, right], name: "product"))
    return graph
  }
}

/// A weight of noise.
private struct NoiseWeight: WeightSource {
  let value: Value

  init(_ type: TensorType) throws {
    value = try Value(type)
    value.fillWithNoise()
  }

  func type(of name: String) -> TensorType? { value.type }

  func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: value.pointer, count: value.type.byteCount)
  }
}
