import CKernels
import Graph
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// One attention problem with its numbers.
private struct AttentionCase: CustomStringConvertible {
  var tokens = 1
  var heads = 1
  var groups = 1
  var size = 8
  var newRows = 1
  var pastRows = 0
  var position = 0
  var window = 0
  var causal = true
  var blocks: [Int32]?

  var description: String {
    "\(tokens)x\(heads)/\(groups)x\(size) new \(newRows) past \(pastRows) at \(position) "
      + "window \(window)"
  }

  var queryPosition: Int { position + newRows - tokens }

  func sees(_ query: Int, _ key: Int) -> Bool {
    guard causal else { return true }
    if window > 0, key < query - window + 1 { return false }
    if key <= query { return true }
    guard let blocks, query >= position, key >= position else { return false }
    return blocks[query - position] > 0 && blocks[query - position] == blocks[key - position]
  }

  /// Positions of keys with the index of their row: below zero in the past.
  var keys: [(position: Int, past: Bool, row: Int)] {
    var keys: [(Int, Bool, Int)] = []
    if pastRows > 0 {
      for key in max(0, position - pastRows)..<position { keys.append((key, true, key % pastRows)) }
    }
    for row in 0..<newRows { keys.append((position + row, false, row)) }
    return keys
  }
}

@Suite("Kernels: attention")
struct KernelAttentionTests {
  private func naive(
    _ c: AttentionCase,
    _ q: [Float],
    _ new: [[Float]],
    _ past: [[Float]],
    scale: Double
  ) -> [Double] {
    var out = [Double](repeating: 0, count: c.tokens * c.heads * c.size)
    for token in 0..<c.tokens {
      for head in 0..<c.heads {
        let group = head / (c.heads / c.groups)
        let base = (token * c.heads + head) * c.size
        var scores: [(Double, [Float], Int)] = []
        for key in c.keys where c.sees(c.queryPosition + token, key.position) {
          let from = (key.row * c.groups + group) * c.size
          let rows = key.past ? past : new
          var score = 0.0
          for e in 0..<c.size { score += Double(q[base + e]) * Double(rows[0][from + e]) }
          scores.append((score * scale, rows[1], from))
        }
        let peak = scores.map(\.0).max() ?? 0
        let sum = scores.reduce(0) { $0 + exp($1.0 - peak) }
        for (score, values, from) in scores {
          for e in 0..<c.size {
            out[base + e] += exp(score - peak) / sum * Double(values[from + e])
          }
        }
      }
    }
    return out
  }

  private func check(_ c: AttentionCase, _ pool: KernelPool, seed: Int) {
    check(c, pool, seed: seed, pastIsHalf: false)
    if c.pastRows > 0 { check(c, pool, seed: seed, pastIsHalf: true) }
  }

  private func check(_ c: AttentionCase, _ pool: KernelPool, seed: Int, pastIsHalf: Bool) {
    var noise = Noise(seed)
    let q = noise.floats(c.tokens * c.heads * c.size)
    let new = (0..<2).map { _ in noise.floats(c.newRows * c.groups * c.size) }
    var past = (0..<2).map { _ in noise.floats(max(c.pastRows, 1) * c.groups * c.size) }
    if pastIsHalf { past = past.map { $0.map { ElementCoding.rounded($0, to: .f16) } } }
    let stored = past.map { rows -> [UInt8] in
      let type = TensorType(pastIsHalf ? .f16 : .f32, [rows.count])
      var bytes = [UInt8](repeating: 0, count: type.byteCount)
      bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress else { return }
        ElementCoding.encode(rows, type.dtype, to: base)
      }
      return bytes
    }
    var out = [Float](repeating: .nan, count: q.count)
    let scale: Float = 0.7
    out.withUnsafeMutableBufferPointer { out in
      q.withUnsafeBufferPointer { q in
        new[0].withUnsafeBufferPointer { k in
          new[1].withUnsafeBufferPointer { v in
            stored[0].withUnsafeBytes { pastK in
              stored[1].withUnsafeBytes { pastV in
                (c.blocks ?? []).withUnsafeBufferPointer { blocks in
                  var problem = tk_attention(
                    query: q.baseAddress,
                    keys: k.baseAddress,
                    values: v.baseAddress,
                    pastKeys: c.pastRows > 0 ? pastK.baseAddress : nil,
                    pastValues: c.pastRows > 0 ? pastV.baseAddress : nil,
                    pastIsHalf: pastIsHalf,
                    mask: nil,
                    maskStride: 0,
                    blocks: c.blocks == nil ? nil : blocks.baseAddress,
                    out: out.baseAddress,
                    tokens: c.tokens,
                    heads: c.heads,
                    groups: c.groups,
                    size: c.size,
                    newRows: c.newRows,
                    pastRows: c.pastRows,
                    position: Int64(c.position),
                    queryPosition: Int64(c.queryPosition),
                    window: Int64(c.window),
                    causal: c.causal,
                    scale: scale
                  )
                  withScratch(tk_attention_scratch(pool.handle, &problem)) {
                    tk_attend(pool.handle, &problem, $0)
                  }
                }
              }
            }
          }
        }
      }
    }
    let off = worst(out, naive(c, q, new, past, scale: Double(scale))) { _ in 1 }
    #expect(off < KernelTolerance.attention, "\(c) off by \(off)")
  }

  /// A query that is no number spoils its own result only, a key that is none all of them.
  @Test(arguments: kernelSets)
  func numbersThatAreNoneShow(set: String) throws {
    let pool = try KernelPool(set)
    let (tokens, keys, size) = (33, 70, 24)
    for spoiled in [Float.nan, .infinity] {
      for isKey in [false, true] {
        var q = [Float](repeating: 0.5, count: tokens * size)
        var k = [Float](repeating: 0.25, count: keys * size)
        let v = [Float](repeating: 2, count: keys * size)
        if isKey { k[40 * size + 3] = spoiled } else { q[5 * size + 3] = spoiled }
        var out = [Float](repeating: -1, count: q.count)
        var problem = tk_attention()
        (problem.tokens, problem.heads, problem.groups) = (tokens, 1, 1)
        (problem.size, problem.newRows, problem.scale) = (size, keys, 1)
        q.withUnsafeBufferPointer { q in
          k.withUnsafeBufferPointer { k in
            v.withUnsafeBufferPointer { v in
              out.withUnsafeMutableBufferPointer { out in
                (problem.query, problem.keys) = (q.baseAddress, k.baseAddress)
                (problem.values, problem.out) = (v.baseAddress, out.baseAddress)
                withScratch(tk_attention_scratch(pool.handle, &problem)) {
                  tk_attend(pool.handle, &problem, $0)
                }
              }
            }
          }
        }
        for token in 0..<tokens {
          let row = out[token * size..<(token + 1) * size]
          let isSpoiled = isKey || token == 5
          let holds = row.allSatisfy { isSpoiled ? $0.isNaN : abs($0 - 2) < 1e-5 }
          #expect(holds, "\(spoiled) \(isKey) \(token): \(row.first ?? 0)")
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func fullAttention(set: String) throws {
    let pool = try KernelPool(set)
    for tokens in [1, 2, 3, 4, 5, 13, 33, 70] {
      for (heads, groups, size) in [
        (1, 1, 8), (3, 3, 20), (4, 2, 64), (8, 1, 32), (6, 2, 7), (2, 1, 72),
      ] {
        for keys in [1, 5, 31, 70, 300] {
          let c = AttentionCase(
            tokens: tokens,
            heads: heads,
            groups: groups,
            size: size,
            newRows: keys,
            causal: false
          )
          check(c, pool, seed: tokens * keys)
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func cachedAttentionBeforeAndAfterTheRingWraps(set: String) throws {
    let pool = try KernelPool(set)
    for (heads, groups, size) in [(8, 1, 64), (4, 2, 12), (2, 2, 32)] {
      for newRows in [1, 3, 17, 70] {
        for tokens in Set([1, min(newRows, 4), newRows]) {
          for pastRows in [5, 64, 300] {
            for position in [0, 1, 4, 63, 64, 65, 290, 1000] {
              for window in [0, 3, 40] {
                let c = AttentionCase(
                  tokens: tokens,
                  heads: heads,
                  groups: groups,
                  size: size,
                  newRows: newRows,
                  pastRows: pastRows,
                  position: position,
                  window: window
                )
                check(c, pool, seed: position + newRows)
              }
            }
          }
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func blocksSeeThemselves(set: String) throws {
    let pool = try KernelPool(set)
    for newRows in [3, 20, 70] {
      let blocks = (0..<newRows).map { (row: Int) -> Int32 in row % 11 < 4 ? 0 : Int32(1 + row / 11)
      }
      for position in [0, 7, 100] {
        for window in [0, 5, 30] {
          let c = AttentionCase(
            tokens: newRows,
            heads: 4,
            groups: 1,
            size: 32,
            newRows: newRows,
            pastRows: 50,
            position: position,
            window: window,
            blocks: blocks
          )
          check(c, pool, seed: newRows)
        }
      }
    }
  }

  @Test(arguments: kernelSets)
  func longCachesAreSplitIntoRanges(set: String) throws {
    let pool = try KernelPool(set, threads: 3)
    for position in [500, 1024, 1500] {
      let c = AttentionCase(
        tokens: 1,
        heads: 8,
        groups: 1,
        size: 64,
        newRows: 1,
        pastRows: 1024,
        position: position
      )
      check(c, pool, seed: position)
    }
  }

  @Test(arguments: kernelSets)
  func bandedAttention(set: String) throws {
    let pool = try KernelPool(set)
    for (tokens, heads, size, window) in [(1, 1, 5, 1), (30, 2, 16, 12), (41, 3, 19, 4)] {
      for count in [tokens, tokens - 1, max(tokens / 2, 1)] where count > 0 {
        var noise = Noise(tokens)
        let inputs = (0..<3).map { _ in noise.floats(tokens * heads * size) }
        let relative = noise.floats((window + 1) * heads * size)
        let got = banded(pool, inputs, relative, (tokens, heads, size, window, count))
        let want = naiveBanded(inputs, relative, (tokens, heads, size, window, count))
        let rows = max(count, 1) * heads * size
        let off = worst(Array(got[..<rows]), Array(want[..<rows])) { _ in 1 }
        #expect(off < KernelTolerance.attention, "\(tokens) \(count) off by \(off)")
      }
    }
  }

  private typealias BandedShape = (tokens: Int, heads: Int, size: Int, window: Int, count: Int)

  private func banded(
    _ pool: KernelPool,
    _ inputs: [[Float]],
    _ relative: [Float],
    _ s: BandedShape
  ) -> [Float] {
    var out = [Float](repeating: .nan, count: inputs[0].count)
    out.withUnsafeMutableBufferPointer { out in
      inputs[0].withUnsafeBufferPointer { q in
        inputs[1].withUnsafeBufferPointer { k in
          inputs[2].withUnsafeBufferPointer { v in
            relative.withUnsafeBufferPointer { r in
              var problem = tk_banded(
                query: q.baseAddress,
                keys: k.baseAddress,
                values: v.baseAddress,
                relative: r.baseAddress,
                out: out.baseAddress,
                tokens: s.tokens,
                heads: s.heads,
                size: s.size,
                window: s.window,
                count: s.count,
                softcap: 50
              )
              tk_attend_banded(pool.handle, &problem)
            }
          }
        }
      }
    }
    return out
  }

  private func naiveBanded(
    _ inputs: [[Float]],
    _ relative: [Float],
    _ s: BandedShape
  ) -> [Double] {
    var out = [Double](repeating: 0, count: inputs[0].count)
    let stride = s.heads * s.size
    for row in 0..<s.tokens {
      for head in 0..<s.heads {
        let own = row * stride + head * s.size
        var scores: [(Double, Int)] = []
        for j in max(0, row + 1 - s.window)...row where j < s.count {
          var score = 0.0
          for e in 0..<s.size {
            let key = Double(inputs[1][j * stride + head * s.size + e])
            let far = Double(relative[(row - j) * stride + head * s.size + e])
            score += Double(inputs[0][own + e]) * (key + far)
          }
          scores.append((50 * tanh(score / 50), j))
        }
        let peak = scores.map(\.0).max() ?? 0
        let sum = scores.reduce(0) { $0 + exp($1.0 - peak) }
        for (score, j) in scores {
          for e in 0..<s.size {
            out[own + e] +=
              exp(score - peak) / sum * Double(inputs[2][j * stride + head * s.size + e])
          }
        }
      }
    }
    return out
  }
}
