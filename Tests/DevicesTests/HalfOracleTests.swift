import CKernels
import Graph
import TestSupport
import Testing

@testable import Devices

/// The fp16 numerics of the emulated units against NumPy's float16.
@Suite struct HalfOracleTests {
  private let fixtures: HalfFixtures

  init() throws { fixtures = try HalfFixtures() }

  private typealias Input = (name: String, values: [Float], shape: Shape)

  /// Runs one operation of f32 inputs, and perhaps a weight behind them, on the emulated GPU: fp16
  /// storage, f32 sums.
  private func run(
    _ op: Op,
    _ inputs: [Input],
    weight: String? = nil,
    of weights: MemoryWeights = MemoryWeights()
  ) throws -> [UInt16] {
    var graph = Graph(name: "oracle")
    var operands = inputs.map {
      graph.append(source: .input, type: TensorType(.f32, $0.shape), name: $0.name)
    }
    if let weight, let type = weights.type(of: weight) {
      operands.append(
        graph.append(source: .constant(.weight(weight)), type: type, name: weight)
      )
    }
    graph.addOutput("result", try graph.append(op, operands, name: op.kind))
    let unit = try EmulatedUnit(.emulatedGPU, threads: 2)
    let executable = try unit.compile(Segment(unit: .emulatedGPU, graph: graph), over: weights)
    var values: [String: Value] = [:]
    for input in inputs { values[input.name] = try Value(input.values, input.shape) }
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try unit.wait(for: try executable.launch(values, after: []))
    let result = values["result"]?.floats ?? []
    // What is stored is what fp16 keeps.
    #expect(result.allSatisfy { $0.isNaN || $0 == Float(Float16($0)) })
    return result.map { Float16($0).bitPattern }
  }

  private func compare(
    _ name: String,
    _ got: [UInt16],
    within places: Int = 0,
    _ operands: (Int) -> String = { _ in "" }
  ) throws {
    let wanted = try fixtures.halves(name)
    #expect(got.count == wanted.count, "\(name)")
    let wrong = zip(got, wanted).enumerated().filter {
      let (a, b) = $0.element
      if places == 0, a != b { return HalfFixtures.distance(a, b) > 0 || a & 0x7FFF == 0 }
      return HalfFixtures.distance(a, b) > places
    }
    let examples = wrong.prefix(5).map { index, pair in
      "\(operands(index)): \(Float16(bitPattern: pair.0)), NumPy \(Float16(bitPattern: pair.1))"
    }
    #expect(wrong.isEmpty, "\(name): \(wrong.count) of \(got.count) differ: \(examples)")
  }

  @Test(arguments: kernelSets)
  func everyHalfWidensAsInNumPy(set: String) throws {
    let wanted = try fixtures.singles("halves.f32")
    let halves = Array(0...UInt16.max)
    let widened = halves.map { ElementCoding.widen(half: $0) }
    // Through the widening of stored weights: a matrix of one column times 1.
    var expanded = [Float](repeating: 0, count: halves.count)
    let pool = try KernelPool(set)
    halves.withUnsafeBytes { bytes in
      var matrix = tk_matrix(data: bytes.baseAddress, format: TK_F16, rows: 65_536, columns: 1)
      withScratch(tk_linear_scratch(pool.handle, 1, &matrix)) {
        tk_linear(pool.handle, [1], 1, &matrix, nil, &expanded, $0)
      }
    }
    for (index, value) in wanted.enumerated() {
      let isSame = [widened[index], expanded[index]].allSatisfy {
        value.isNaN ? $0.isNaN : $0 == value
      }
      #expect(isSame, "\(index)")
    }
  }

  @Test(arguments: kernelSets)
  func singlesRoundAsInNumPy(set: String) throws {
    let values = try fixtures.singles("singles.f32")
    let table = try #require(tk_rows_named(set)).pointee
    var rounded = [Float](repeating: 0, count: values.count)
    var health = tk_health()
    table.roundHalf(values, &rounded, values.count, false, &health)
    try compare("singles.f16", rounded.map { Float16($0).bitPattern }) { "\(values[$0])" }
    try compare("singles.f16", values.map { ElementCoding.narrow(half: $0) }) { "\(values[$0])" }
    let wanted = try fixtures.numbers("singles.f16")
    #expect(Int(health.nans) == wanted.count { $0.isNaN })
    #expect(Int(health.overflows) == wanted.count { $0.isInfinite })
  }

  private static let pairs: [(String, Binary)] = Binary.allCases.map { ($0.rawValue, $0) }

  @Test(arguments: pairs)
  func elementwiseIsNumPysBitForBit(_ name: String, _ kind: Binary) throws {
    let (a, b) = (try fixtures.numbers("pair.a"), try fixtures.numbers("pair.b"))
    let got = try run(.binary(kind), [("a", a, [a.count]), ("b", b, [b.count])])
    try compare("pair." + name, got) { "\(a[$0]) and \(b[$0])" }
  }

  @Test func affineAndClampAreNumPysBitForBit() throws {
    let a = try fixtures.numbers("pair.a")
    let input: Input = ("a", a, [a.count])
    let affine = try run(.affine(scale: 0.1767767, offset: -0.3), [input])
    try compare("affine", affine) { "\(a[$0])" }
    let clamp = try run(.clamp(lower: -2.5, upper: 1.75), [input])
    try compare("clamp", clamp) { "\(a[$0])" }
  }

  @Test(arguments: [Unary.gelu, .silu, .tanh, .exp, .sigmoid, .softplus])
  func functionsAreWithinOnePlace(_ kind: Unary) throws {
    let x = try fixtures.numbers("unary.x")
    let got = try run(.unary(kind), [("x", x, [x.count])])
    try compare("unary." + kind.rawValue, got, within: 1) { "\(x[$0])" }
  }

  @Test func sumsOverRowsAreWithinOnePlace() throws {
    let x = try fixtures.numbers("rows.x")
    let weights = MemoryWeights()
    weights.add("w", try fixtures.numbers("rows.weight"), [160])
    let input: [Input] = [("x", x, [24, 160])]
    for axis in 0...1 {
      for (name, kind) in [("sum", Reduction.sum), ("mean", .mean), ("maximum", .maximum)] {
        let got = try run(.reduce(kind, axis: axis), input)
        try compare("rows.\(name)\(axis)", got, within: 1)
      }
    }
    try compare("rows.softmax", try run(.softmax, input), within: 1)
    for (name, op) in [
      ("rmsNorm", Op.rmsNorm(epsilon: 1e-6)), ("layerNorm", .layerNorm(epsilon: 1e-6)),
    ] {
      try compare("rows." + name, try run(op, input, weight: "w", of: weights), within: 1)
    }
  }

  @Test(arguments: [DType.f16, .int8Block32, .int4Block32, .int4Palette32])
  func linearLayersAreWithinOnePlace(_ format: DType) throws {
    let x = try fixtures.numbers("linear.x")
    let weights = MemoryWeights()
    try fixtures.stored("linear.\(format.rawValue).weight").withUnsafeBytes {
      weights.add("w", bytes: $0, TensorType(format, [64, 128]))
    }
    // Few rows take the dot-product form, many the tiles.
    for rows in [1, 3, 56] {
      let input: Input = ("x", Array(x[..<(rows * 128)]), [rows, 128])
      let got = try run(.linear, [input], weight: "w", of: weights)
      let wanted = try fixtures.halves("linear.\(format.rawValue).y").prefix(rows * 64)
      let worst = zip(got, wanted).map { HalfFixtures.distance($0, $1) }.max() ?? .max
      #expect(worst <= 1, "\(format) of \(rows) rows: \(worst) places")
      #expect(got.count == rows * 64)
    }
  }

  @Test func productsOfActivationsAreWithinOnePlace() throws {
    let a: Input = ("a", try fixtures.numbers("matmul.a"), [3, 18, 40])
    for (name, shape, transposed) in [
      ("matmul.b", [3, 40, 22] as Shape, false), ("matmul.bT", [3, 22, 40], true),
    ] {
      let b: Input = ("b", try fixtures.numbers(name), shape)
      let got = try run(.matmul(transposeRight: transposed), [a, b])
      try compare("matmul.y", got, within: 1)
    }
  }
}
