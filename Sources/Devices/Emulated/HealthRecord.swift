import CKernels

/// A unit that counts what becomes of the numbers it stores as fp16.
public protocol HealthKeeping: ComputeUnit {
  /// The counts since the unit was made.
  var health: HealthRecord { get }
}

/// What happened to numbers that a unit stores as fp16, operation by operation.
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

  private struct Entries {
    var order: [String] = []
    var byName: [String: Entry] = [:]
    var firstUnhealthy: String?
  }

  private let entries = Protected(Entries())

  /// The operations so far, in the order in which they first ran.
  public var report: [Entry] {
    entries.update { entries in entries.order.compactMap { entries.byName[$0] } }
  }

  /// The operation that was the first in time to leave the range of fp16, or nil.
  public var firstUnhealthy: Entry? {
    entries.update { entries in entries.firstUnhealthy.flatMap { entries.byName[$0] } }
  }

  /// Forgets everything.
  public func reset() { entries.update { $0 = Entries() } }

  func add(_ counts: tk_health, to name: String) {
    entries.update { entries in
      var entry = entries.byName[name] ?? Entry(name: name)
      if entries.byName[name] == nil { entries.order.append(name) }
      if entries.firstUnhealthy == nil, counts.overflows > 0 || counts.nans > 0 {
        entries.firstUnhealthy = name
      }
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
