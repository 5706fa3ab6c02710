import CKernels
import Testing

/// Quantised weights with activations in 16-bit fixed point.
@Suite("Kernels: fixed point")
struct KernelFixedTests {
  private static let formats = [TK_INT8_BLOCK32, TK_INT4_BLOCK32, TK_INT4_PALETTE32]

  private func run(
    _ x: [Float],
    _ rows: Int,
    _ weight: StoredMatrix,
    bias: [Float]? = nil,
    _ pool: KernelPool
  ) -> [Float] {
    var y = [Float](repeating: .nan, count: rows * weight.rows)
    weight.withMatrix { matrix in
      withScratch(tk_linear_fixed_scratch(pool.handle, rows, &matrix)) {
        tk_linear_fixed(pool.handle, x, rows, &matrix, bias, &y, $0)
      }
    }
    return y
  }

  /// What rounding may cost each result, beside the order of f32 sums: half a step of the largest
  /// activation among 128 neighbours, half a step of the largest palette entry of 32 rows.
  private func allowance(_ x: [Float], _ rows: Int, _ weight: StoredMatrix) -> [Double] {
    let depth = weight.columns
    var allowed: [Double] = []
    for row in 0..<rows {
      let values = x[row * depth..<(row + 1) * depth].map { Double(abs($0)) }
      let peaks = stride(from: 0, to: depth, by: 128).map {
        values[$0..<min($0 + 128, depth)].max() ?? 0
      }
      for n in 0..<weight.rows {
        let group = n / 32 * 32 * depth..<min((n / 32 + 1) * 32, weight.rows) * depth
        let entry =
          weight.format == TK_INT4_PALETTE32 ? weight.values[group].map(abs).max() ?? 0 : 0
        var sum = 1e-30
        for k in 0..<depth {
          let w = abs(weight.values[n * depth + k])
          sum += w * peaks[k / 128] / 65_000 + values[k] * entry / 8_192 + 2e-6 * w * values[k]
        }
        allowed.append(sum)
      }
    }
    return allowed
  }

  private func exact(
    _ x: [Float],
    _ rows: Int,
    _ weight: StoredMatrix,
    _ bias: [Float]?
  ) -> [Double] {
    (0..<rows * weight.rows).map { index in
      let (row, n) = (index / weight.rows, index % weight.rows)
      return (0..<weight.columns).reduce(Double(bias?[n] ?? 0)) {
        $0 + Double(x[row * weight.columns + $1]) * weight.values[n * weight.columns + $1]
      }
    }
  }

  @Test(arguments: kernelSets, 0..<3)
  func staysWithinItsRounding(set: String, index: Int) throws {
    let pool = try KernelPool(set)
    for depth in [32, 64, 96, 128, 160, 544] {
      for (columns, rows) in [(1, 1), (5, 2), (33, 3), (130, 4), (67, 7), (40, 40), (34, 41)] {
        let weight = StoredMatrix(Self.formats[index], columns, depth, seed: depth + columns)
        var noise = Noise(columns * rows)
        var x = noise.floats(rows * depth)
        // One number far beyond the others costs its neighbours digits, and nobody else.
        x[depth / 2] *= 300
        let bias = columns % 2 == 0 ? noise.floats(columns) : nil
        let allowed = allowance(x, rows, weight)
        let y = run(x, rows, weight, bias: bias, pool)
        let off = worst(y, exact(x, rows, weight, bias)) {
          allowed[$0] + 2e-6 * abs(Double(bias?[$0 % columns] ?? 0))
        }
        #expect(off <= 1, "\(rows)x\(columns)x\(depth) off by \(off) of what is allowed")
      }
    }
  }

  @Test(arguments: kernelSets)
  func largestNumbersDoNotOverflow(set: String) throws {
    let pool = try KernelPool(set)
    for format in Self.formats {
      var weight = StoredMatrix(format, 33, 256, seed: 1)
      weight.fillWithLargest()
      let x = [Float](repeating: 3e5, count: 256)
      let off = worst(run(x, 1, weight, pool), exact(x, 1, weight, nil)) {
        abs(exact(x, 1, weight, nil)[$0])
      }
      #expect(off < 1e-5)
    }
  }

  @Test(arguments: kernelSets)
  func numbersThatAreNotFiniteStayInTheirRow(set: String) throws {
    let pool = try KernelPool(set)
    for format in Self.formats {
      let weight = StoredMatrix(format, 40, 96, seed: 9)
      var noise = Noise(3)
      let plain = noise.floats(2 * 96)
      for value in [Float.infinity, -.infinity, .nan] {
        var x = plain
        x[5] = value
        let y = run(x, 2, weight, pool)
        #expect(y[..<40].allSatisfy { !$0.isFinite })
        #expect(y[40...].allSatisfy { $0.isFinite }, "a row leaks into another")
      }
      for value in [Float(1e38), .leastNonzeroMagnitude, 0] {
        var x = [Float](repeating: 0, count: 96)
        x[5] = value
        #expect(run(x, 1, weight, pool).allSatisfy { !$0.isNaN })
      }
    }
  }

  @Test(arguments: kernelSets)
  func resultsDoNotDependOnThreads(set: String) throws {
    for format in Self.formats {
      for columns in [1, 3, 31, 203, 2_051] {
        let weight = StoredMatrix(format, columns, 160, seed: columns)
        var noise = Noise(5)
        let x = noise.floats(3 * 160)
        let results = try [1, 2, 5].map {
          run(x, 3, weight, try KernelPool(set, threads: $0)).map(\.bitPattern)
        }
        #expect(results[0] == results[1] && results[0] == results[2])
      }
    }
  }

  @Test
  func weightsExpectedNextChangeNothing() throws {
    let pool = try KernelPool(threads: 3)
    let weight = StoredMatrix(TK_INT4_PALETTE32, 1_024, 512, seed: 4)
    var noise = Noise(6)
    let x = noise.floats(512)
    let want = run(x, 1, weight, pool)
    weight.withMatrix { matrix in
      for _ in 0..<50 {
        tk_linear_expect(pool.handle, &matrix)
        #expect(run(x, 1, weight, pool) == want)
      }
      tk_linear_expect(pool.handle, nil)
    }
    #expect(run(x, 1, weight, pool) == want)
  }
}
