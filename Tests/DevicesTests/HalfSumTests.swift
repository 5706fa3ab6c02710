import CKernels
import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// Sums kept in fp16 against plain loops, bit for bit on every instruction set.
@Suite struct HalfSumTests {
  private static func half(_ value: Float) -> Float { Float(Float16(value)) }

  private static func noise(_ count: Int, _ seed: Int, _ scale: Float = 1) -> [Float] {
    var noise = Noise(seed)
    return noise.floats(count, scale: scale).map { half($0) }
  }

  /// `s = fp16(fp32(a · b + s))` for the terms in order.
  private static func dot(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Float {
    zip(a, b).reduce(0) { sum, pair in half(pair.0 * pair.1 + sum) }
  }

  static let cases = kernelSets.flatMap { set in
    StoredMatrix.formats.map { (set, Int($0.rawValue)) }
  }

  @Test(arguments: cases)
  func linearLayers(set: String, format: Int) throws {
    let pool = try KernelPool(set, threads: 2)
    for (rows, depth, width) in [(1, 32, 5), (3, 64, 40), (9, 320, 33), (6, 1056, 70)] {
      let stored = StoredMatrix(tk_format(UInt32(format)), width, depth, seed: depth + format)
      let weights = stored.values.map { Self.half(Float($0)) }
      let x = Self.noise(rows * depth, rows)
      let bias = Self.noise(width, 5)
      var y = [Float](repeating: 7, count: rows * width)
      stored.withMatrix { matrix in
        withScratch(tk_linear_half_scratch(pool.handle)) {
          tk_linear_half(pool.handle, x, rows, &matrix, bias, &y, $0)
        }
      }
      for row in 0..<rows {
        for column in 0..<width {
          let sum = Self.dot(
            x[(row * depth)..<((row + 1) * depth)],
            weights[(column * depth)..<((column + 1) * depth)]
          )
          #expect(y[row * width + column] == sum + bias[column], "\(rows)x\(depth)x\(width)")
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func norms(set: String) throws {
    let table = try #require(tk_rows_named(set)).pointee
    for (rows, width) in [(1, 16), (5, 33), (19, 200)] {
      let x = Self.noise(rows * width, width, 4)
      let w = Self.noise(width, 3)
      var rms = [Float](repeating: 7, count: rows * width)
      var layer = rms
      #expect(table.rmsNormHalf(x, w, &rms, rows, width, 1e-6) == 0)
      #expect(table.layerNormHalf(x, w, &layer, rows, width, 1e-6) == 0)
      for row in 0..<rows {
        let range = (row * width)..<((row + 1) * width)
        let squares = Self.dot(x[range], x[range])
        let factor = 1 / (squares / Float(width) + 1e-6).squareRoot()
        let mean = x[range].reduce(0) { Self.half($0 + $1) } / Float(width)
        let apart = ArraySlice(x[range].map { Self.half($0 - mean) })
        let spread = 1 / (Self.dot(apart, apart) / Float(width) + 1e-6).squareRoot()
        for (place, index) in range.enumerated() {
          #expect(rms[index] == x[index] * factor * w[place])
          #expect(layer[index] == (x[index] - mean) * spread * w[place])
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func softmax(set: String) throws {
    let table = try #require(tk_rows_named(set)).pointee
    for (rows, width) in [(1, 16), (5, 33), (19, 200)] {
      let x = Self.noise(rows * width, width, 4)
      var y = [Float](repeating: 7, count: rows * width)
      #expect(table.softmaxHalf(x, &y, rows, width) == 0)
      for row in 0..<rows {
        let range = (row * width)..<((row + 1) * width)
        let peak = x[range].max() ?? 0
        let parts = x[range].map { Self.half(Float(exp(Double($0 - peak)))) }
        let inverse = 1 / parts.reduce(0) { Self.half($0 + $1) }
        for (place, index) in range.enumerated() { #expect(y[index] == parts[place] * inverse) }
      }
    }
  }

  @Test(arguments: kernelSets)
  func sumsThatLeaveTheRangeAreCounted(set: String) throws {
    let table = try #require(tk_rows_named(set)).pointee
    let x = [Float](repeating: 200, count: 3 * 64)
    var y = x
    #expect(table.rmsNormHalf(x, nil, &y, 3, 64, 1e-6) == 3)
    #expect(table.rmsNormHalf(Array(x[..<64]).map { $0 / 200 }, nil, &y, 1, 64, 1e-6) == 0)
  }

  @Test(arguments: [(TK_F16, DType.f16), (TK_INT8_BLOCK32, .int8Block32)])
  func programsKeepTheirProductsInHalf(_ kernel: tk_format, _ format: DType) throws {
    let (rows, depth, width) = (5, 96, 21)
    let stored = StoredMatrix(kernel, width, depth, seed: 4)
    let weights = MemoryWeights()
    stored.bytes.withUnsafeBytes {
      weights.add("w", bytes: $0, TensorType(format, [width, depth]))
    }
    let matrix = stored.values.map { Self.half(Float($0)) }
    let x = Self.noise(rows * depth, 9)
    var graph = Graph(name: "products")
    func input(_ name: String, _ shape: Shape) -> Int {
      graph.append(source: .input, type: TensorType(.f32, shape), name: name)
    }
    let left = input("x", [rows, depth])
    let (right, turned) = (input("b", [width, depth]), input("t", [depth, width]))
    let type = TensorType(format, [width, depth])
    let weight = graph.append(source: .constant(.weight("w")), type: type, name: "w")
    graph.addOutput("linear", try graph.append(.linear, [left, weight], name: "linear"))
    let ops: [(String, Int, Bool)] = [("plain", turned, false), ("transposed", right, true)]
    for (name, operand, transposed) in ops {
      let op = Op.matmul(transposeRight: transposed)
      graph.addOutput(name, try graph.append(op, [left, operand], name: name))
    }
    var options = EngineOptions()
    options.accumulation = .f16
    let unit = try EmulatedUnit(.neuralEngine(options), threads: 2)
    let segment = Segment(unit: .neuralEngine, graph: graph)
    let executable = try unit.compile(segment, over: weights)
    let columns = (0..<depth).flatMap { k in (0..<width).map { matrix[$0 * depth + k] } }
    var values = [
      "x": try Value(x, [rows, depth]), "b": try Value(matrix, [width, depth]),
      "t": try Value(columns, [depth, width]),
    ]
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try unit.wait(for: try executable.launch(values, after: []))
    for name in graph.outputs.map(\.name) {
      let got = try #require(values[name]).floats
      for (index, value) in got.enumerated() {
        let (row, column) = (index / width, index % width)
        let wanted = Self.dot(
          x[(row * depth)..<((row + 1) * depth)],
          matrix[(column * depth)..<((column + 1) * depth)]
        )
        #expect(value == wanted, "\(name)")
      }
    }
  }

  /// A program on an engine with this accumulation.
  private func run(
    _ accumulation: UnitNumerics.Accumulation,
    _ op: Op,
    _ x: [Float],
    _ shape: Shape
  ) throws -> (result: [Float], unit: EmulatedUnit) {
    var graph = Graph(name: "sums")
    let input = graph.append(source: .input, type: TensorType(.f32, shape), name: "x")
    graph.addOutput("y", try graph.append(op, [input], name: "text.layers.3.norm"))
    var options = EngineOptions()
    options.accumulation = accumulation
    let unit = try EmulatedUnit(.neuralEngine(options), threads: 2)
    let executable = try unit.compile(
      Segment(unit: .neuralEngine, graph: graph),
      over: MemoryWeights()
    )
    let y = try Value(graph.nodes[graph.outputs[0].node].type)
    let values = ["x": try Value(x, shape), "y": y]
    try unit.wait(for: try executable.launch(values, after: []))
    return (y.floats, unit)
  }

  @Test func theProfileDecidesWhatSumsAreKeptIn() throws {
    // Beyond 2048, fp16 does not count on by ones.
    let ones = [Float](repeating: 1, count: 3000)
    #expect(try run(.f32, .reduce(.sum, axis: 1), ones, [1, 3000]).result == [3000])
    #expect(try run(.f16, .reduce(.sum, axis: 1), ones, [1, 3000]).result == [2048])
    #expect(try run(.f16, .reduce(.sum, axis: 0), ones, [3000, 1]).result == [2048])
  }

  @Test func anOverflowInsideANormIsNamed() throws {
    let large = [Float](repeating: 200, count: 64)
    let wide = try run(.f32, .rmsNorm(epsilon: 1e-6), large, [1, 64])
    #expect(wide.unit.health.firstUnhealthy == nil)
    let narrow = try run(.f16, .rmsNorm(epsilon: 1e-6), large, [1, 64])
    #expect(narrow.result.allSatisfy { $0 == 0 })
    #expect(narrow.unit.health.firstUnhealthy?.name == "text.layers.3.norm")
    #expect(narrow.unit.health.firstUnhealthy?.overflows == 1)
  }
}
