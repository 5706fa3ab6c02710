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
    linearProduct(x, rows, weight, bias: bias, pool, isFixed: true)
  }

  /// What rounding may cost each result, beside the order of f32 sums.
  ///
  /// Half a step of the largest activation among 128 neighbours, half a step of the largest weight
  /// nearby. Few rows meet palettes against the largest entry, more rows meet all weights against the
  /// largest of 128.
  private func allowance(_ x: [Float], _ rows: Int, _ weight: StoredMatrix) -> [Double] {
    let few = rows <= tk_linear_dot_limit()
    return (0..<rows * weight.rows).map { index in
      let (row, n) = (index / weight.rows, index % weight.rows)
      let values = magnitudes(x.map(Double.init), row, weight.columns)
      let weights = magnitudes(weight.values, n, weight.columns)
      var entry = 0.0
      if few, weight.format == TK_INT4_PALETTE32 {
        let first = n / 32 * 32
        entry =
          (first..<min(first + 32, weight.rows)).map {
            magnitudes(weight.values, $0, weight.columns).all.max() ?? 0
          }.max() ?? 0
      }
      return (0..<weight.columns).reduce(1e-30) { sum, k in
        let (w, v) = (weights.all[k], values.all[k])
        let xStep = values.peaks[k / 128] / (few ? 65_000 : 16_300)
        let wStep = few ? entry / 8_192 : weights.peaks[k / 128] / 4_080
        return sum + w * xStep + v * wStep + 2e-6 * w * v
      }
    }
  }

  /// Absolute values of one row, and the largest of each 128.
  private func magnitudes(
    _ numbers: [Double],
    _ row: Int,
    _ depth: Int
  ) -> (all: [Double], peaks: [Double]) {
    let all = numbers[row * depth..<(row + 1) * depth].map(abs)
    let peaks = stride(from: 0, to: depth, by: 128).map {
      all[$0..<min($0 + 128, depth)].max() ?? 0
    }
    return (all, peaks)
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
    let shapes = [(1, 1), (5, 2), (33, 3), (130, 4), (67, 7), (40, 40), (34, 41), (70, 103)]
    let deep = [(33, 41), (67, 43), (130, 103)]
    for depth in [32, 64, 96, 128, 160, 544, 800, 1568, 1600] {
      for (columns, rows) in depth > 544 ? deep : shapes {
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
      for rows in [1, 43] {
        let x = [Float](repeating: 3e5, count: rows * 256)
        let want = exact(x, rows, weight, nil)
        #expect(worst(run(x, rows, weight, pool), want) { abs(want[$0]) } < 1e-5)
      }
    }
  }

  @Test(arguments: kernelSets, [2, 44])
  func numbersThatAreNotFiniteStayInTheirRow(set: String, rows: Int) throws {
    let pool = try KernelPool(set)
    for format in Self.formats {
      let weight = StoredMatrix(format, 40, 96, seed: 9)
      var noise = Noise(3)
      let plain = noise.floats(rows * 96)
      for value in [Float.infinity, -.infinity, .nan] {
        var x = plain
        x[5] = value
        let y = run(x, rows, weight, pool)
        #expect(y[..<40].allSatisfy { !$0.isFinite })
        #expect(y[40...].allSatisfy { $0.isFinite }, "a row leaks into another")
      }
      for value in [Float(1e30), .leastNonzeroMagnitude, 0] {
        var x = [Float](repeating: 0, count: rows * 96)
        x[5] = value
        #expect(run(x, rows, weight, pool).allSatisfy { !$0.isNaN })
      }
    }
  }

  @Test(arguments: kernelSets, [2, 44])
  func weightsThatAreNotFiniteStayInTheirRows(set: String, rows: Int) throws {
    let pool = try KernelPool(set)
    for format in Self.formats {
      var noise = Noise(4)
      let x = noise.floats(rows * 96)
      for value in [Float16.infinity, -.infinity, .nan, 0, .leastNonzeroMagnitude] {
        var weight = StoredMatrix(format, 70, 96, seed: 9)
        let followers = weight.replaceSource(row: 35, column: 40, with: value)
        let y = run(x, rows, weight, pool)
        for index in y.indices {
          let column = index % 70
          if column == 35 {
            #expect(y[index].isFinite == value.isFinite, "\(format) \(value)")
          } else if !followers.contains(column) {
            #expect(y[index].isFinite, "\(format) \(value): row \(column) of the weights")
          }
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func resultsDoNotDependOnThreads(set: String) throws {
    for format in Self.formats {
      for columns in [1, 3, 31, 203, 2_051] {
        let weight = StoredMatrix(format, columns, 160, seed: columns)
        var noise = Noise(5)
        for rows in [3, 60] {
          let x = noise.floats(rows * 160)
          let results = try [1, 2, 5].map {
            run(x, rows, weight, try KernelPool(set, threads: $0)).map(\.bitPattern)
          }
          #expect(results[0] == results[1] && results[0] == results[2])
        }
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
