/// Which tasks a task has to wait for because of the states that they read and write.
public struct StateHazards: Hashable, Sendable {
  /// The last task that made the next value of each state.
  private var writers: [String: Int] = [:]
  /// Those that have read it since.
  private var readers: [String: [Int]] = [:]

  /// No tasks so far.
  public init() {}

  /// The tasks that have to be over before states are read and written.
  public func tasks(reading read: Set<String>, writing written: Set<String>) -> [Int] {
    read.compactMap { writers[$0] } + written.flatMap { (readers[$0] ?? []) }
  }

  /// Takes note of a task that reads and writes states.
  public mutating func note(_ task: Int, reading read: Set<String>, writing written: Set<String>) {
    for state in read { readers[state, default: []].append(task) }
    for state in written {
      writers[state] = task
      readers[state] = []
    }
  }
}
