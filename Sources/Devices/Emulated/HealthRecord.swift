import CKernels

/// What happened to the activations of a unit that stores fp16, operation by operation.
public final class HealthRecord: Sendable {
  /// Counts of one operation.
  public struct Entry: Hashable, Sendable {
    /// The operation's name in its program.
    public let name: String
    /// Largest finite magnitude.
    public var largest: Float = 0
    /// Infinite results, and sums inside the operation that became infinite.
    public var overflows = 0
    /// Results that are no numbers.
    public var nans = 0
    /// Subnormals that became zero.
    public var flushed = 0
  }

  private let entries = Protected<(order: [String], byName: [String: Entry])>(([], [:]))

  /// The operations so far, in the order in which they first ran.
  public var report: [Entry] {
    entries.update { entries in entries.order.compactMap { entries.byName[$0] } }
  }

  /// The first operation whose results left the range of fp16, or nil.
  public var firstUnhealthy: Entry? { report.first { $0.overflows > 0 || $0.nans > 0 } }

  /// Forgets everything.
  public func reset() { entries.update { $0 = ([], [:]) } }

  func add(_ counts: tk_health, to name: String) {
    entries.update { entries in
      var entry = entries.byName[name] ?? Entry(name: name)
      if entries.byName[name] == nil { entries.order.append(name) }
      entry.largest = max(entry.largest, counts.largest)
      entry.overflows += Int(counts.overflows)
      entry.nans += Int(counts.nans)
      entry.flushed += Int(counts.flushed)
      entries.byName[name] = entry
    }
  }
}

/// How activations are added and stored.
struct HalfRounding: Sendable {
  let flushesSubnormals: Bool
  /// Whether sums are kept in fp16.
  let accumulatesInHalf: Bool
  let health: HealthRecord
  /// Matrices that had to be converted.
  let weights: HalfWeights
}
