import CKernels
import Testing

#if canImport(Glibc)
import Glibc
#endif

@Suite("Kernels: rows and elements")
struct KernelRowTests {
  private static let extremes: [Float] = [
    0, -0.0, 1, -1, 1e-30, -1e-30, .leastNonzeroMagnitude, 20, -20, 87, -87, 88.5, -88.5, 89, -104,
    200, -200, 1e30,
    -1e30, .infinity, -.infinity, .nan, .greatestFiniteMagnitude, 0.5,
  ]

  private func table(_ set: String) throws -> tk_rows { try #require(tk_rows_named(set)).pointee }

  private func inputs(_ count: Int, _ scale: Float = 4) -> [Float] {
    var noise = Noise(count)
    return noise.floats(count, scale: scale)
  }

  private func check(
    _ got: [Float],
    _ x: [Float],
    _ name: String,
    of want: (Double) -> Double
  ) {
    let want = x.map { want(Double($0)) }
    let off = worst(got, want) { max(abs(want[$0]), 1) * KernelTolerance.element }
    #expect(off <= 1, "\(name) off by \(off)")
  }

  private static let functions: [(tk_unary, String, @Sendable (Double) -> Double)] = [
    (TK_GELU, "gelu", { 0.5 * $0 * (1 + tanh(0.79788456 * ($0 + 0.044715 * $0 * $0 * $0))) }),
    (TK_SILU, "silu", { $0 / (1 + exp(-$0)) }), (TK_SIGMOID, "sigmoid", { 1 / (1 + exp(-$0)) }),
    (TK_RELU, "relu", { $0.isNaN ? $0 : max($0, 0) }), (TK_TANH, "tanh", { tanh($0) }),
    (TK_SOFTPLUS, "softplus", { $0 > 30 ? $0 + exp(-$0) : log1p(exp($0)) }),
    (TK_EXP, "exp", { exp($0) }),
  ]

  @Test(arguments: kernelSets)
  func functionsOfOneNumber(set: String) throws {
    let rows = try table(set)
    for (kind, name, want) in Self.functions {
      for count in [0, 1, 3, 15, 16, 17, 33, 100] {
        let x = inputs(count)
        var y = [Float](repeating: 7, count: count + 1)
        rows.unary(kind, x, &y, count)
        check(Array(y[..<count]), x, name, of: want)
        #expect(y[count] == 7, "\(name) writes beyond the end")
      }
      // -∞ times 0 has no value: only finite numbers, and those with a limit, are compared.
      let x = Self.extremes.filter { $0 != -.infinity || (kind != TK_GELU && kind != TK_SILU) }
      var y = [Float](repeating: 0, count: x.count)
      rows.unary(kind, x, &y, x.count)
      let expected = x.map { Double(Float(want(Double($0)))) }
      let off = worst(y, expected) { max(abs(expected[$0]), 1) * KernelTolerance.element }
      #expect(off <= 2, "\(name) of extremes off by \(off): \(zip(x, y).map { "\($0)" })")
    }
  }

  @Test(arguments: kernelSets)
  func functionsOfTwoNumbers(set: String) throws {
    let rows = try table(set)
    let kinds: [(tk_binary, (Float, Float) -> Float)] = [
      (TK_ADD, { $0 + $1 }), (TK_SUBTRACT, { $0 - $1 }), (TK_MULTIPLY, { $0 * $1 }),
      (TK_DIVIDE, { $0 / $1 }), (TK_MAXIMUM, { $0 < $1 ? $1 : $0 }),
      (TK_MINIMUM, { $1 < $0 ? $1 : $0 }),
    ]
    for (kind, want) in kinds {
      for count in [1, 15, 16, 31, 37] {
        let (a, b) = (inputs(count), Array(inputs(count + 1).dropFirst()))
        var y = [Float](repeating: 7, count: count + 1)
        rows.binary(kind, a, b, &y, count)
        #expect(Array(y[..<count]) == zip(a, b).map(want))
        rows.binaryScalar(kind, a, 1.5, &y, count)
        #expect(Array(y[..<count]) == a.map { want($0, 1.5) })
        #expect(y[count] == 7)
      }
    }
  }

  @Test(arguments: kernelSets)
  func scaledClampedAndCapped(set: String) throws {
    let rows = try table(set)
    for count in [1, 16, 35] {
      let x = inputs(count, 60)
      var y = [Float](repeating: 0, count: count)
      rows.affine(x, &y, 2, -0.5, count)
      check(y, x, "affine") { $0 * 2 - 0.5 }
      rows.clamp(x, &y, -3, 5, count)
      #expect(y == x.map { min(max($0, -3), 5) })
      rows.softcap(x, &y, 30, count)
      check(y, x, "softcap") { 30 * tanh($0 / 30) }
      let up = inputs(count)
      rows.gatedGelu(x, up, &y, count)
      let want = zip(x, up).map { Self.functions[0].2(Double($0)) * Double($1) }
      #expect(worst(y, want) { max(abs(want[$0]), 1) * KernelTolerance.element } <= 1)
    }
    var y = [Float](repeating: 0, count: 3)
    rows.clamp([.nan, .infinity, -.infinity], &y, -1, 1, 3)
    #expect(y[0].isNaN && y[1] == 1 && y[2] == -1)
  }

  @Test(arguments: kernelSets)
  func norms(set: String) throws {
    let rows = try table(set)
    for (count, width) in [(1, 1), (3, 7), (2, 64), (4, 100), (2, 1536)] {
      for scale: Float in [1, 1e-6, 1e6] {
        let x = inputs(count * width, scale)
        let weight = inputs(width)
        for weight in [nil, weight] {
          for centred in [false, true] {
            var y = [Float](repeating: 0, count: x.count)
            let kernel = centred ? rows.layerNorm : rows.rmsNorm
            kernel?(x, weight, &y, count, width, 1e-6)
            let want = naiveNorm(x, weight, width, centred: centred)
            let off = worst(y, want) { _ in 4 * KernelTolerance.row }
            #expect(off <= 1, "\(width) \(scale) \(centred) off by \(off)")
          }
        }
      }
    }
  }

  private func naiveNorm(
    _ x: [Float],
    _ weight: [Float]?,
    _ width: Int,
    centred: Bool
  ) -> [Double] {
    var out: [Double] = []
    for start in stride(from: 0, to: x.count, by: width) {
      let row = x[start..<start + width].map(Double.init)
      let mean = centred ? row.reduce(0, +) / Double(width) : 0
      let variance = row.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(width)
      for (index, value) in row.enumerated() {
        out.append((value - mean) / (variance + 1e-6).squareRoot() * Double(weight?[index] ?? 1))
      }
    }
    return out
  }

  @Test(arguments: kernelSets)
  func softmax(set: String) throws {
    let rows = try table(set)
    for width in [1, 5, 16, 33, 257] {
      var x = inputs(2 * width, 30)
      if width > 2 { x[1] = -.infinity }
      var y = [Float](repeating: 0, count: x.count)
      rows.softmax(x, &y, 2, width)
      let want = [0, width].flatMap { start -> [Double] in
        let row = x[start..<start + width].map(Double.init)
        let powers = row.map { exp($0 - (row.max() ?? 0)) }
        return powers.map { $0 / powers.reduce(0, +) }
      }
      #expect(worst(y, want) { _ in KernelTolerance.row } <= 1)
      rows.softmax([Float](repeating: -.infinity, count: width), &y, 1, width)
      #expect(y[..<width].allSatisfy { $0.isNaN })
      var bad = [Float](repeating: 1, count: width)
      bad[width - 1] = .nan
      rows.softmax(bad, &y, 1, width)
      #expect(y[..<width].allSatisfy { $0.isNaN })
    }
  }

  @Test(arguments: kernelSets, [1, 2])
  func rotation(set: String, axes: Int) throws {
    let rows = try table(set)
    for (count, heads, size) in [(1, 1, 4), (3, 2, 12), (2, 3, 64), (2, 1, 100)] {
      let (x, angles) = (inputs(count * heads * size), inputs(count * size, 1))
      var y = [Float](repeating: 0, count: x.count)
      rows.rotate(x, angles, &y, count, heads, size, axes)
      var want = [Double](repeating: 0, count: x.count)
      let half = size / axes / 2
      for row in 0..<count {
        for base in stride(from: row * heads * size, to: (row + 1) * heads * size, by: 2 * half) {
          let part = row * size + (base - row * heads * size) % size
          for i in 0..<half {
            let (a, b) = (Double(x[base + i]), Double(x[base + half + i]))
            let (c, s) = (Double(angles[part + i]), Double(angles[part + half + i]))
            want[base + i] = a * c - b * s
            want[base + half + i] = b * c + a * s
          }
        }
      }
      #expect(worst(y, want) { _ in 8 * KernelTolerance.element } <= 1)
    }
  }
}
