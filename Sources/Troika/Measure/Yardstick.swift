import Devices
import Foundation
import Graph

/// Fixed work on the processor that no kernel of ours takes part in: how fast the machine is now.
///
/// Timed in every round beside the stages, it tells a slower stage from a slower machine.
final class Yardstick: TimedWork, @unchecked Sendable {
  /// What it is made of.
  enum Kind: String, CaseIterable, Sendable {
    /// Multiplications and additions in registers.
    case compute
    /// Reading memory that no cache holds.
    case read
    /// The first on one thread, as what no unit does runs.
    case thread
    /// The first in a thousand short loops, between which threads wait for each other: slower where
    /// processors take longer to hand memory to one another.
    case loops
  }

  let kind: Kind
  var name: String { "yardstick.\(kind.rawValue)" }
  private let threads: WorkerPool
  private let memory: Buffer
  private let parts: Int
  private var results: [UInt64]

  private let steps: Int
  private let loopCount = 1000

  /// How much work it is.
  struct Size: Sendable {
    /// Bytes that are read.
    var byteCount = 128 << 20
    /// Multiply-adds of each register on each thread.
    var steps = 100_000
  }

  /// Fixed work for a number of threads.
  ///
  /// - Throws: `DeviceError.outOfMemory`, or where there is no thread.
  init(_ kind: Kind, _ size: Size = Size(), threads: Int) throws {
    self.kind = kind
    let threads = kind == .thread ? 1 : threads
    self.threads = try WorkerPool(threads: threads)
    steps = kind == .loops ? size.steps / loopCount : size.steps
    parts = threads
    results = [UInt64](repeating: 0, count: threads)
    memory = try Buffer(byteCount: kind == .read ? size.byteCount : 64)
    memory.pointer.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
  }

  func run() -> [Timeline.Event] {
    results.withUnsafeMutableBufferPointer { results in
      nonisolated(unsafe) let results = results
      for _ in 0..<(kind == .loops ? loopCount : 1) {
        threads.run(parts) { part in
          results[part] = kind == .read ? sum(of: part) : product(from: part)
        }
      }
    }
    return []
  }

  /// The sum of one part of the memory.
  private func sum(of part: Int) -> UInt64 {
    let words = UnsafeBufferPointer(
      start: UnsafePointer(memory.pointer.assumingMemoryBound(to: SIMD8<UInt64>.self)),
      count: memory.byteCount / 64
    )
    var sum = SIMD8<UInt64>.zero
    for index in words.count * part / parts..<words.count * (part + 1) / parts {
      sum &+= words[index]
    }
    return sum.wrappedSum()
  }

  /// Eight independent chains of multiply-adds.
  private func product(from part: Int) -> UInt64 {
    var chains = (0..<8).map { SIMD8<Float>(repeating: Float($0 + part) * 0.1) }
    chains.withUnsafeMutableBufferPointer { chains in
      var (a, b, c, d) = (chains[0], chains[1], chains[2], chains[3])
      var (e, f, g, h) = (chains[4], chains[5], chains[6], chains[7])
      for _ in 0..<steps {
        a = a * 0.5 + 1
        b = b * 0.5 + 1
        c = c * 0.5 + 1
        d = d * 0.5 + 1
        e = e * 0.5 + 1
        f = f * 0.5 + 1
        g = g * 0.5 + 1
        h = h * 0.5 + 1
      }
      chains[0] = a + b + c + d + e + f + g + h
    }
    return UInt64(chains[0].sum().bitPattern)
  }
}
