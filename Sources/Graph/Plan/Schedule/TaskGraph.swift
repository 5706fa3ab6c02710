/// Work as tasks that wait for one another: what a scheduler carries out.
///
/// A task's dependencies have lower numbers than its own, so that the numbers are an order in which
/// everything can run.
public struct TaskGraph: Hashable, Sendable {
  /// One piece of work on one unit.
  public struct Task: Hashable, Sendable {
    /// The program's name.
    public let program: String
    /// The unit that runs it.
    public let unit: UnitID
    /// What it is.
    public let kind: Timeline.Kind
    /// Numbers of the tasks it waits for.
    public let after: [Int]
  }

  /// The tasks; a lower number goes first where two could start.
  public private(set) var tasks: [Task] = []

  /// No tasks.
  public init() {}

  /// Adds a task behind others.
  ///
  /// - Parameters:
  ///   - program: the program's name.
  ///   - unit: the unit that runs it.
  ///   - kind: what it is.
  ///   - after: numbers of tasks that are there already.
  /// - Returns: its number.
  @discardableResult
  public mutating func add(
    _ program: String,
    on unit: UnitID,
    kind: Timeline.Kind = .launch,
    after: [Int] = []
  ) -> Int {
    let earlier = Set(after.filter { $0 >= 0 && $0 < tasks.count }).sorted()
    tasks.append(Task(program: program, unit: unit, kind: kind, after: earlier))
    return tasks.count - 1
  }

  /// The units that run anything, by name.
  public var units: [UnitID] { Set(tasks.map(\.unit)).sorted { $0.name < $1.name } }
}
