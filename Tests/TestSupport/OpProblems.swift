public import Graph

/// One small program that exercises an operation, with its inputs.
public struct OpProblem: Sendable, CustomStringConvertible {
  /// What it exercises.
  public let name: String
  /// The program; its outputs are compared.
  public let graph: Graph
  /// Its constants.
  public let weights: MemoryWeights
  /// f32 inputs by name.
  public let floats: [String: [Float]]
  /// i32 inputs by name.
  public let integers: [String: [Int32]]

  /// The name.
  public var description: String { name }

  /// The same problem with another program.
  public func replacing(_ graph: Graph) -> OpProblem {
    OpProblem(name: name, graph: graph, weights: weights, floats: floats, integers: integers)
  }
}

/// Writes a problem down the way models are written.
struct ProblemBuilder {
  let tracer: Tracer
  let weights = MemoryWeights()
  private(set) var floats: [String: [Float]] = [:]
  private(set) var integers: [String: [Int32]] = [:]
  private var random: RandomNumbers

  init(_ name: String, seed: UInt64) {
    random = RandomNumbers(seed: seed)
    tracer = Tracer(name, over: weights)
  }

  mutating func input(_ name: String, _ shape: Shape, scale: Float = 2) -> Tensor {
    floats[name] = random.floats(shape.elementCount).map { $0 * scale }
    return tracer.input(name, TensorType(.f32, shape))
  }

  mutating func input(_ name: String, _ values: [Int32], _ shape: Shape) -> Tensor {
    integers[name] = values
    return tracer.input(name, TensorType(.i32, shape))
  }

  mutating func weight(_ name: String, _ shape: Shape, brain: Bool = false) -> Tensor {
    let values = random.floats(shape.elementCount)
    if brain { weights.addBrain(name, values, shape) } else { weights.add(name, values, shape) }
    return tracer.weight(name, shape)
  }

  func problem(_ name: String, _ result: Tensor, state: String? = nil) throws -> OpProblem {
    tracer.output(state ?? "result", result, isState: state != nil)
    return OpProblem(
      name: name,
      graph: try tracer.finish(),
      weights: weights,
      floats: floats,
      integers: integers
    )
  }
}

extension OpProblem {
  /// Problems for every operation that units may be asked to run.
  public static func all() throws -> [OpProblem] {
    try elementwise() + rows() + products() + attention() + movement() + convolutions()
  }

  private static func make(
    _ name: String,
    _ body: (inout ProblemBuilder) -> Tensor
  ) throws -> OpProblem {
    var builder = ProblemBuilder(name, seed: name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
    let result = body(&builder)
    return try builder.problem(name, result)
  }

  private static func elementwise() throws -> [OpProblem] {
    let unary: [(String, (Tensor) -> Tensor)] = [
      ("gelu", { $0.gelu() }), ("silu", { $0.silu() }), ("sigmoid", { $0.sigmoid() }),
      ("relu", { $0.relu() }), ("softplus", { $0.softplus() }), ("softcap", { $0.softcap(3) }),
      ("clamp", { $0.clamped(-0.5, 0.75) }), ("affine", { $0.affine(1.5, -0.25) }),
    ]
    let binary: [(String, Shape, (Tensor, Tensor) -> Tensor)] = [
      ("add", [5, 19], { $0 + $1 }), ("subtract row", [19], { $0 - $1 }),
      ("multiply one", [1], { $0 * $1 }), ("multiply column", [5, 1], { $0 * $1 }),
    ]
    return try unary.map { name, body in
      try make(name) { body($0.input("x", [5, 19], scale: 6)) }
    }
      + binary.map { name, shape, body in
        try make(name) { body($0.input("a", [5, 19]), $0.input("b", shape)) }
      } + [
        try make("add swapped") { $0.input("a", [19]) + $0.input("b", [5, 19]) },
        try make("subtract outer") { $0.input("a", [5, 1]) - $0.input("b", [1, 19]) },
        try make("gated gelu") { $0.input("a", [5, 19]).gelu() * $0.input("b", [5, 19]) },
      ]
  }

  private static func rows() throws -> [OpProblem] {
    [
      try make("rmsNorm") { $0.input("x", [7, 33]).rmsNorm($0.weight("w", [33]), epsilon: 1e-6) },
      try make("rmsNorm heads") {
        $0.input("x", [4, 3, 16]).rmsNorm($0.weight("w", [16], brain: true), epsilon: 1e-6)
      },
      try make("rmsNorm plain") { $0.input("x", [7, 33]).rmsNorm(epsilon: 1e-6) },
      try make("layerNorm") {
        $0.input("x", [3, 5, 21]).layerNorm($0.weight("w", [21]), epsilon: 1e-6)
      },
      try make("mean") { $0.input("x", [4, 9, 11]).reduced(.mean, axis: 1) },
      try make("maximum") { $0.input("x", [4, 9, 11]).reduced(.maximum, axis: 2) },
      try make("sum outer") { $0.input("x", [4, 9]).reduced(.sum, axis: 0) },
      try make("norm of sum") {
        let a = $0.input("a", [40, 24])
        let b = $0.input("b", [40, 24]).rmsNorm($0.weight("w", [24]), epsilon: 1e-6)
        return (a + b).rmsNorm(epsilon: 1e-6) * a
      },
    ]
  }

  private static func products() throws -> [OpProblem] {
    try [(1, 7, 5), (3, 64, 40), (9, 100, 33), (64, 96, 70), (37, 300, 129)].map {
      rows,
      depth,
      width in
      try make("linear \(rows)x\(depth)x\(width)") {
        $0.input("x", [rows, depth]).linear($0.weight("w", [width, depth], brain: width % 2 == 0))
      }
    } + [
      try make("linear bias") {
        $0.input("x", [6, 20]).linear($0.weight("w", [10, 20]), bias: $0.weight("b", [10]))
      },
      try make("linear 3D") { $0.input("x", [2, 5, 20]).linear($0.weight("w", [10, 20])) },
    ]
  }

  private static func attention() throws -> [OpProblem] {
    [
      try make("rotate") { builder in
        let positions = builder.input("p", (0..<6).map { $0 * 37 }, [6, 1])
        let rates = builder.tracer.literal([1, 0.3, 0.01, 0], [4], name: "rates")
        return builder.input("x", [6, 2, 8]).rotated(by: positions.rotaryTable(rates))
      },
      try make("rotate two axes") { builder in
        let positions = builder.input("p", [0, 0, 1, 0, 2, 5, -1, -1], [4, 2])
        let rates = builder.tracer.literal([1, 0.3], [2], name: "rates")
        return builder.input("x", [4, 3, 8]).rotated(by: positions.rotaryTable(rates), axes: 2)
      },
      try make("attention") {
        $0.input("q", [37, 3, 16]).attention(
          over: $0.input("k", [37, 3, 16]),
          $0.input("v", [37, 3, 16])
        )
      },
      try make("attention counted and grouped") {
        $0.input("q", [20, 4, 12]).attention(
          over: $0.input("k", [20, 2, 12]),
          $0.input("v", [20, 2, 12]),
          count: $0.input("n", [13], [1]),
          scale: 0.5
        )
      },
      try make("banded attention") {
        $0.input("q", [30, 2, 8]).attention(
          banded: $0.input("k", [30, 2, 8]),
          $0.input("v", [30, 2, 8]),
          relative: $0.input("r", [13, 2, 8]),
          count: $0.input("n", [25], [1]),
          window: 12,
          softcap: 50
        )
      },
    ] + (try cached())
  }

  private static func cached() throws -> [OpProblem] {
    let cases: [(tokens: Int, ring: Int, position: Int32, window: Int?, blocks: Bool)] = [
      (1, 16, 0, nil, false), (1, 16, 9, nil, false), (5, 16, 7, 6, false),
      (1, 8, 30, 8, false), (8, 24, 21, 16, false), (40, 64, 0, nil, false),
      (40, 64, 24, 10, false), (9, 24, 11, 12, true), (70, 128, 50, 33, false),
    ]
    return try cases.map { tokens, ring, position, window, blocks in
      try make("cached \(tokens) at \(position) ring \(ring) window \(window ?? 0) \(blocks)") {
        builder in
        func rows(_ name: String, _ count: Int, _ heads: Int) -> Tensor {
          builder.input(name, [count, heads, 8])
        }
        let numbers = (0..<Int32(tokens)).map { $0 > 1 && $0 < 6 ? Int32(1) : 0 }
        return rows("q", tokens, 4).attention(
          past: (rows("pk", ring, 2), rows("pv", ring, 2)),
          new: (rows("k", tokens, 2), rows("v", tokens, 2)),
          queryPosition: builder.input("qp", [position], [1]),
          position: builder.input("p", [position], [1]),
          blocks: blocks ? builder.input("b", numbers, [tokens]) : nil,
          window: window
        )
      }
    }
  }

  private static func movement() throws -> [OpProblem] {
    [
      try make("gather") {
        $0.weight("t", [10, 6], brain: true).gathered($0.input("i", [3, -1, 9, 10, 0], [5]))
      },
      try make("gather of a slice") {
        $0.weight("t", [3, 10, 6], brain: true).sliced(axis: 0, start: 1, count: 1)
          .reshaped([10, 6]).gathered($0.input("i", [3, 9], [2]))
      },
      try make("slice inner") { $0.input("x", [4, 10]).sliced(axis: 1, start: 3, count: 5) },
      try make("slice outer") {
        $0.input("x", [8, 5]).sliced(axis: 0, start: 2, count: 4).gelu()
      },
      try make("transpose") { $0.input("x", [3, 4, 5]).transposed([2, 0, 1]) },
      try make("pad") { $0.input("x", [3, 4]).padded(axis: 0, before: 2, after: 1) },
      try make("reshape") { $0.input("x", [3, 4]).reshaped([2, 6]) },
    ]
  }

  private static func convolutions() throws -> [OpProblem] {
    [
      try make("conv2D") {
        $0.input("x", [11, 8, 3]).conv2D($0.weight("w", [5, 3, 3, 3]), stride: 2, padding: 1)
      },
      try make("conv2D one channel") {
        $0.input("x", [20, 16, 1]).conv2D($0.weight("w", [6, 1, 3, 3]), stride: 2, padding: 1)
      },
      try make("depthwise") {
        $0.input("x", [9, 6]).causalDepthwiseConv($0.weight("w", [6, 1, 5], brain: true))
      },
    ]
  }
}
