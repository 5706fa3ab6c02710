import CKernels
import Testing

@Suite("Kernels: pool, convolutions, tables")
struct KernelPoolTests {
  /// How often each task ran, and by whom.
  private func runs(_ pool: OpaquePointer, _ count: Int) -> (times: [Int32], workers: [Int32]) {
    var seen = [Int32](repeating: 0, count: count)
    seen.withUnsafeMutableBufferPointer { seen in
      tk_pool_run(
        pool,
        Int32(count),
        { context, task, worker in
          guard let seen = context?.assumingMemoryBound(to: Int32.self) else { return }
          seen[Int(task)] += 1 + 1000 * worker
        },
        seen.baseAddress
      )
    }
    return (seen.map { $0 % 1000 }, seen.map { $0 / 1000 })
  }

  @Test(arguments: [1, 2, 3, 7])
  func everyTaskRunsOnce(threads: Int) throws {
    let pool = try KernelPool(threads: threads)
    for count in [0, 1, 2, 3, 64, 1000, 0, 1] {
      let (times, workers) = runs(pool.handle, count)
      #expect(times.allSatisfy { $0 == 1 })
      #expect(workers.allSatisfy { $0 >= 0 && $0 < Int32(threads) })
    }
    for _ in 0..<2000 {
      #expect(runs(pool.handle, 3).times == [1, 1, 1])
    }
  }

  @Test func poolsComeAndGo() throws {
    for threads in [1, 2, 4, 2, 1] {
      for _ in 0..<20 {
        let pool = try #require(tk_pool_create(Int32(threads), nil))
        #expect(tk_pool_threads(pool) == threads)
        #expect(runs(pool, 5).times == [1, 1, 1, 1, 1])
        tk_pool_destroy(pool)
      }
    }
    #expect(tk_pool_create(0, nil) == nil)
    tk_pool_destroy(nil)
  }

  @Test func setsHaveNames() throws {
    let pool = try KernelPool()
    #expect(!tk_pool_use(pool.handle, "abacus"))
    #expect(tk_rows_named("abacus") == nil)
    #expect(kernelSets.contains("portable"))
  }

  @Test(arguments: kernelSets)
  func convolution(set: String) throws {
    let pool = try KernelPool(set)
    for (height, width, channels, outputs, kernel, stride, padding) in [
      (5, 7, 1, 3, 3, 2, 1), (9, 4, 3, 5, 3, 1, 0), (20, 11, 2, 17, 3, 2, 1), (4, 4, 4, 2, 1, 1, 0),
    ] {
      var noise = Noise(height)
      let x = noise.floats(height * width * channels)
      let weight = noise.floats(outputs * channels * kernel * kernel)
      let rows = (height + 2 * padding - kernel) / stride + 1
      let columns = (width + 2 * padding - kernel) / stride + 1
      var y = [Float](repeating: .nan, count: rows * columns * outputs)
      x.withUnsafeBufferPointer { x in
        weight.withUnsafeBufferPointer { weight in
          y.withUnsafeMutableBufferPointer { y in
            var problem = tk_conv(
              x: x.baseAddress,
              weight: weight.baseAddress,
              y: y.baseAddress,
              height: height,
              width: width,
              channels: channels,
              outputs: outputs,
              kernelHeight: kernel,
              kernelWidth: kernel,
              stride: stride,
              padding: padding
            )
            withScratch(tk_conv_scratch(pool.handle, &problem)) {
              tk_conv2d(pool.handle, &problem, $0)
            }
          }
        }
      }
      let want = naive(
        x,
        weight,
        (height, width, channels),
        (outputs, kernel, stride, padding),
        rows,
        columns
      )
      #expect(worst(y, want) { _ in 40 * KernelTolerance.product } <= 1)
    }
  }

  private func naive(
    _ x: [Float],
    _ weight: [Float],
    _ image: (height: Int, width: Int, channels: Int),
    _ shape: (outputs: Int, kernel: Int, stride: Int, padding: Int),
    _ rows: Int,
    _ columns: Int
  ) -> [Double] {
    var sums: [Double] = []
    for cell in 0..<rows * columns * shape.outputs {
      let (place, out) = (cell / shape.outputs, cell % shape.outputs)
      var sum = 0.0
      for tap in 0..<image.channels * shape.kernel * shape.kernel {
        let (c, i) = (tap / shape.kernel / shape.kernel, tap / shape.kernel % shape.kernel)
        let r = place / columns * shape.stride + i - shape.padding
        let s = place % columns * shape.stride + tap % shape.kernel - shape.padding
        guard r >= 0, r < image.height, s >= 0, s < image.width else { continue }
        let factor = weight[out * image.channels * shape.kernel * shape.kernel + tap]
        sum += Double(x[(r * image.width + s) * image.channels + c]) * Double(factor)
      }
      sums.append(sum)
    }
    return sums
  }

  @Test(arguments: kernelSets)
  func depthwise(set: String) throws {
    let pool = try KernelPool(set)
    for (rows, channels, taps) in [(1, 1, 5), (12, 33, 5), (3, 16, 4), (7, 100, 1)] {
      var noise = Noise(channels)
      let (x, weight) = (noise.floats(rows * channels), noise.floats(channels * taps))
      var y = [Float](repeating: .nan, count: x.count)
      tk_depthwise(pool.handle, x, weight, &y, rows, channels, taps)
      var want: [Double] = []
      for row in 0..<rows {
        for c in 0..<channels {
          var sum = 0.0
          for j in 0..<taps where row + j + 1 >= taps {
            sum += Double(weight[c * taps + j]) * Double(x[(row + j + 1 - taps) * channels + c])
          }
          want.append(sum)
        }
      }
      #expect(worst(y, want) { _ in 10 * KernelTolerance.product } <= 1)
    }
  }
}
