/// Decides what runs next: serial inside a unit, concurrent across units.
///
/// A unit that is free takes, of the tasks whose dependencies are over, the one with the lowest number.
/// The same rule drives units on a wall clock and a simulated one.
public struct Scheduler: Sendable {
  private let unitOf: [Int]
  private let readers: [[Int]]
  private var waiting: [Int]
  private var ready: [[Int]]
  private var busy: [Bool]
  private var left: Int

  /// The units in the order that `start` counts them in.
  public let units: [UnitID]

  /// A scheduler in front of its first task.
  public init(_ graph: TaskGraph) {
    units = graph.units
    let index = Dictionary(uniqueKeysWithValues: units.enumerated().map { ($1, $0) })
    unitOf = graph.tasks.map { index[$0.unit] ?? 0 }
    var readers = [[Int]](repeating: [], count: graph.tasks.count)
    for (id, task) in graph.tasks.enumerated() {
      for earlier in task.after { readers[earlier].append(id) }
    }
    self.readers = readers
    waiting = graph.tasks.map(\.after.count)
    ready = [[Int]](repeating: [], count: units.count)
    busy = [Bool](repeating: false, count: units.count)
    left = graph.tasks.count
    for id in graph.tasks.indices where waiting[id] == 0 { insert(id) }
  }

  /// Whether everything is over.
  public var isDone: Bool { left == 0 }

  /// Starts a task on a unit if the unit is free and has any that is ready.
  ///
  /// - Returns: its number.
  public mutating func start(on unit: Int) -> Int? {
    guard !busy[unit], let id = ready[unit].popLast() else { return nil }
    busy[unit] = true
    return id
  }

  /// Ends a task that was started.
  ///
  /// - Returns: units, without repetition, that may have something to start now.
  @discardableResult
  public mutating func finish(_ task: Int) -> [Int] {
    busy[unitOf[task]] = false
    left -= 1
    var woken = [unitOf[task]]
    for reader in readers[task] {
      waiting[reader] -= 1
      guard waiting[reader] == 0 else { continue }
      insert(reader)
      if !woken.contains(unitOf[reader]) { woken.append(unitOf[reader]) }
    }
    return woken
  }

  /// Ready tasks stand by falling number, so that the next is the last.
  private mutating func insert(_ id: Int) {
    let unit = unitOf[id]
    var index = ready[unit].count
    while index > 0, ready[unit][index - 1] < id { index -= 1 }
    ready[unit].insert(id, at: index)
  }
}
