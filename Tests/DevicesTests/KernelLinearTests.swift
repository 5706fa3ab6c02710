import CKernels
import Testing

@Suite("Kernels: linear layers")
struct KernelLinearTests {
  private func difference(
    _ y: [Float],
    _ x: [Float],
    _ rows: Int,
    _ weight: StoredMatrix,
    bias: [Float]?
  ) -> Double {
    var want: [Double] = []
    var size: [Double] = []
    for row in 0..<rows {
      for n in 0..<weight.rows {
        var (sum, terms) = (Double(bias?[n] ?? 0), abs(Double(bias?[n] ?? 0)))
        for k in 0..<weight.columns {
          let term = Double(x[row * weight.columns + k]) * weight.values[n * weight.columns + k]
          sum += term
          terms += abs(term)
        }
        want.append(sum)
        size.append(terms)
      }
    }
    return worst(y, want) { size[$0] + 1e-30 }
  }

  @Test(arguments: kernelSets, 0..<7)
  func everyFormatAtOddShapes(set: String, index: Int) throws {
    let format = StoredMatrix.formats[index]
    let isDense = [TK_F32, TK_F16, TK_BF16, TK_INT8_ROW].contains(format)
    let depths = isDense ? [1, 7, 33, 100, 257, 530] : [32, 96, 160, 288, 544]
    let pool = try KernelPool(set)
    let rowCounts = [1, 2, 3, 4, 5, 7, 14, 27, 40, 41, 43]
    var seed = 1
    for depth in depths {
      for columns in [1, 2, 5, 17, 33, 67, 130] {
        let weight = StoredMatrix(format, columns, depth, seed: seed)
        for turn in 0..<3 {
          seed += 1
          let rows = rowCounts[(seed + turn * 4) % rowCounts.count]
          var noise = Noise(seed)
          let x = noise.floats(rows * depth)
          let bias = seed % 2 == 0 ? noise.floats(columns) : nil
          let y = linearProduct(x, rows, weight, bias: bias, pool)
          let off = difference(y, x, rows, weight, bias: bias)
          #expect(off < KernelTolerance.product, "\(rows)x\(columns)x\(depth) off by \(off)")
        }
      }
    }
  }

  @Test(arguments: kernelSets, 0..<7)
  func sumsGoOnFromBlockToBlock(set: String, index: Int) throws {
    let pool = try KernelPool(set)
    for (rows, columns, depth) in [(41, 33, 800), (103, 67, 1568), (43, 130, 1600)] {
      let weight = StoredMatrix(StoredMatrix.formats[index], columns, depth, seed: depth)
      var noise = Noise(rows)
      let (x, bias) = (noise.floats(rows * depth), noise.floats(columns))
      let y = linearProduct(x, rows, weight, bias: bias, pool)
      let off = difference(y, x, rows, weight, bias: bias)
      #expect(off < KernelTolerance.product, "\(rows)x\(columns)x\(depth) off by \(off)")
    }
  }

  @Test(arguments: kernelSets)
  func manyRowsSplitIntoTasks(set: String) throws {
    let pool = try KernelPool(set, threads: 3)
    for (rows, columns, depth) in [
      (401, 130, 520), (200, 300, 300), (97, 129, 257), (103, 67, 769), (43, 130, 1601),
    ] {
      let weight = StoredMatrix(TK_BF16, columns, depth, seed: rows)
      var noise = Noise(columns)
      let (x, bias) = (noise.floats(rows * depth), noise.floats(columns))
      let y = linearProduct(x, rows, weight, bias: bias, pool)
      let off = difference(y, x, rows, weight, bias: bias)
      #expect(off < KernelTolerance.product)
    }
  }

  @Test(arguments: kernelSets)
  func resultsDoNotDependOnThreads(set: String) throws {
    for format in StoredMatrix.formats {
      for (rows, depth) in [(1, 288), (3, 288), (9, 288), (41, 288), (250, 288), (97, 1600)] {
        let weight = StoredMatrix(format, 203, depth, seed: rows)
        var noise = Noise(5)
        let x = noise.floats(rows * depth)
        let results = try [1, 2, 5].map {
          linearProduct(x, rows, weight, bias: nil, try KernelPool(set, threads: $0)).map(
            \.bitPattern
          )
        }
        #expect(results[0] == results[1] && results[0] == results[2])
      }
    }
  }

  @Test(arguments: kernelSets, [1, 6, 44])
  func extremeNumbersStay(set: String, rows: Int) throws {
    let pool = try KernelPool(set)
    for format in [TK_F32, TK_BF16, TK_INT8_BLOCK32] {
      let weight = StoredMatrix(format, 40, 96, seed: 9)
      var noise = Noise(3)
      let plain = noise.floats(rows * 96)
      for value in [Float.infinity, -.infinity, .nan, 1e38, Float.leastNonzeroMagnitude, 1e-30] {
        var x = plain
        x[5] = value
        let y = linearProduct(x, rows, weight, bias: nil, pool)
        #expect(y[40...].allSatisfy { $0.isFinite }, "a row leaks into another")
        for n in 0..<40 {
          let factor = weight.values[n * 96 + 5]
          if value.isNaN {
            #expect(y[n].isNaN)
          } else if value.isInfinite, factor != 0 {
            #expect(Double(y[n]) == Double(value) * factor)
          } else if !value.isInfinite {
            #expect(!y[n].isNaN)
          }
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func nanPassesFourBits(set: String) throws {
    let pool = try KernelPool(set)
    for format in [TK_INT4_BLOCK32, TK_INT4_PALETTE32] {
      let weight = StoredMatrix(format, 33, 64, seed: 2)
      var x = [Float](repeating: 1, count: 64)
      x[63] = .nan
      #expect(linearProduct(x, 1, weight, bias: nil, pool).allSatisfy { $0.isNaN })
    }
  }

  @Test(arguments: 0..<7)
  func gatherExpandsRowsAndZerosOthers(index: Int) {
    let table = StoredMatrix(StoredMatrix.formats[index], 70, 96, seed: 4)
    let ids: [Int32] = [0, 69, 33, -1, 70, 31, 32]
    var out = [Float](repeating: .nan, count: ids.count * 96)
    table.withMatrix { tk_gather(&$0, ids, ids.count, &out) }
    let want = ids.flatMap { id -> [Double] in
      guard id >= 0, id < 70 else { return [Double](repeating: 0, count: 96) }
      return Array(table.values[Int(id) * 96..<Int(id + 1) * 96])
    }
    #expect(worst(out, want) { abs(want[$0]) } < KernelTolerance.product)
  }
}
