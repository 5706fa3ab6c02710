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

  /// The better of two measurements of the same unit.
  func best(with other: UnitLimit) -> UnitLimit {
    UnitLimit(
      unit: unit,
      flopsPerSecond: max(flopsPerSecond, other.flopsPerSecond),
      bytesPerSecond: max(bytesPerSecond, other.bytesPerSecond)
    )
  }
}

/// Products that show how fast units are at most, compiled once and measured again and again.
struct LimitProbe {
  /// How large the products are.
  struct Size: Sendable {
    /// Rows and columns of the weight that many rows are multiplied with.
    var square = 2048
    /// Rows of the weight that one row is multiplied with; half as many columns.
    var wide = 16_384
  }

  private struct Entry {
    let unit: UnitID
    let flops: Int
    let byteCount: Int
    let many: TimedProgram
    let one: TimedProgram
  }

  private let entries: [Entry]
  private let timer: ProgramTimer

  /// Compiles the products; a unit that refuses them has no limit.
  ///
  /// - Throws: where a unit is not available, or memory is short.
  init(
    _ units: [UnitID],
    _ size: Size,
    in registry: Registry,
    _ timer: ProgramTimer
  ) throws {
    var timer = timer
    timer.warmUps = 1
    timer.repeats = min(timer.repeats, 3)
    timer.fewest = 1
    timer.budgetNanoseconds = 1_000_000_000
    self.timer = timer
    guard !units.isEmpty else {
      entries = []
      return
    }
    let square = try NoiseWeight(TensorType(.f16, [size.square, size.square]))
    let wide = try NoiseWeight(TensorType(.f16, [size.wide, size.wide / 2]))
    entries = try units.compactMap { unit in
      // Plain loops reach their rate with any size.
      let isPlain = unit == .reference
      let rows = isPlain ? 1 : 512
      let one = isPlain ? square : wide
      func program(_ rows: Int, _ weight: NoiseWeight) throws -> TimedProgram {
        let graph = try Self.product(rows: rows, weight.value.type)
        return try TimedProgram(graph, over: weight, on: unit, units: registry)
      }
      do {
        return Entry(
          unit: unit,
          flops: 2 * rows * size.square * size.square,
          byteCount: one.value.type.byteCount,
          many: try program(rows, square),
          one: try program(1, one)
        )
      } catch DeviceError.declined {
        return nil
      }
    }
  }

  /// Measures the units in turns, by the shortest of a few launches.
  ///
  /// - Returns: a limit for each unit that has one, not below one known before: what else runs on
  ///   the machine makes limits look smaller, nothing makes them look larger.
  /// - Throws: where a launch fails.
  func measured(_ known: [UnitLimit]) throws -> [UnitLimit] {
    let timings = try timer.time(entries.map(\.many) + entries.map(\.one))
    let seconds = timings.map { Double(max($0.steady.min() ?? 1, 1)) / 1e9 }
    return entries.enumerated().map { index, entry in
      let earlier = known.first { $0.unit == entry.unit }
      let flops = Double(entry.flops) / seconds[index]
      let bytes = Double(entry.byteCount) / seconds[entries.count + index]
      return UnitLimit(
        unit: entry.unit,
        flopsPerSecond: max(flops, earlier?.flopsPerSecond ?? 0),
        bytesPerSecond: max(bytes, earlier?.bytesPerSecond ?? 0)
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
