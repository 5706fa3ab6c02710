import Devices
public import Graph

/// What became of the fp16 numbers of one unit since it was made.
public struct UnitHealth: Hashable, Sendable {
  /// One operation, over all its launches.
  public struct Operation: Hashable, Sendable {
    /// Its name in the model, with its layer.
    public let name: String
    /// Infinite results and infinite sums inside.
    public let overflows: Int
    /// Results that are no numbers.
    public let nans: Int
    /// Subnormals that became zero.
    public let flushed: Int
    /// Largest finite magnitude.
    public let largest: Float

    /// Whether its results hold what hides keys from a query, which is large by design.
    public var hidesKeys: Bool { AttentionDecomposition.hidesKeys(name) }

    /// Whether all results are finite numbers.
    public var isHealthy: Bool { overflows == 0 && nans == 0 }
  }

  /// The unit.
  public let unit: UnitID
  /// Its operations in the order in which they first ran.
  public let operations: [Operation]

  /// The operation that was the first in time to leave the range of fp16, or nil.
  public let firstUnhealthy: Operation?

  /// One line: counts, the largest magnitude beside masks and, where there is one, the first that overflowed.
  public var summary: String {
    func sum(_ count: (Operation) -> Int) -> Int { operations.reduce(0) { $0 + count($1) } }
    let largest = operations.filter { !$0.hidesKeys }.max { $0.largest < $1.largest }
    let head =
      "\(unit): \(sum(\.overflows)) overflows, \(sum(\.nans)) NaN, \(sum(\.flushed)) flushed"
    guard let first = firstUnhealthy else {
      return head + (largest.map { ", largest \($0.largest) at \($0.name)" } ?? "")
    }
    return head + ", first at \(first.name)"
  }

  init?(_ name: UnitID, _ registry: Registry) {
    guard let health = try? registry.health(of: name) else { return nil }
    let report = health.report
    guard !report.isEmpty else { return nil }
    self.unit = name
    operations = report.map(Operation.init)
    firstUnhealthy = health.firstUnhealthy.map(Operation.init)
  }
}

extension UnitHealth.Operation {
  init(_ entry: HealthRecord.Entry) {
    name = entry.name
    overflows = entry.overflows
    nans = entry.nans
    flushed = entry.flushed
    largest = entry.largest
  }
}

extension Registry {
  /// The health of every unit among some that stored fp16; the processor, which writes caches for
  /// all others, has one where a number became infinite there.
  func health(of units: Set<UnitID>) -> [UnitHealth] {
    units.union([.cpu]).sorted { $0.name < $1.name }.compactMap { UnitHealth($0, self) }
  }
}
