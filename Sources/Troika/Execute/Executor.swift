import Devices
import Foundation
import Graph

/// What a task leaves behind.
struct TaskReport: Sendable {
  /// What ran when, in order.
  var events: [Timeline.Event] = []
  /// What the user should know.
  var warnings: [String] = []
}

/// Carries out tasks on a wall clock: one after another on a unit, at the same time on different ones.
///
/// Which of a unit's tasks goes first is the `Scheduler`'s choice. A unit has one thread, which launches
/// a task and waits for it, so that what a failed launch repeats is over before anything that waits
/// for it begins.
final class Executor: @unchecked Sendable {
  /// How a task is carried out.
  typealias Work = () throws -> TaskReport

  /// What became of tasks.
  struct Outcome {
    /// By task number; nil for tasks that did not run.
    fileprivate(set) var reports: [TaskReport?]
    /// Nanoseconds of each task, everything around its launches included.
    fileprivate(set) var nanoseconds: [Int]
  }

  private let graph: TaskGraph
  private let work: [Work]
  /// Asked before each task, one at a time: whether to go on.
  private let goesOn: (Int) -> Bool
  private let asking = NSLock()
  private let state = NSCondition()
  private var scheduler: Scheduler
  private var outcome: Outcome
  private var failure: (any Error)?
  private var isStopped = false
  private var threads = 0

  /// An executor of tasks.
  ///
  /// - Parameter goesOn: asked before each task, by one thread at a time; false ends everything once
  ///   what is running is over.
  init(_ graph: TaskGraph, _ work: [Work], goesOn: @escaping (Int) -> Bool) {
    self.graph = graph
    self.work = work
    self.goesOn = goesOn
    scheduler = Scheduler(graph)
    outcome = Outcome(
      reports: [TaskReport?](repeating: nil, count: work.count),
      nanoseconds: [Int](repeating: 0, count: work.count)
    )
  }

  /// Runs all tasks.
  ///
  /// - Parameter serially: one after another in the order of their numbers.
  /// - Returns: what became of them.
  /// - Throws: the first error, once everything that was running is over.
  func run(serially: Bool) throws -> Outcome {
    if serially || scheduler.units.count < 2 {
      for task in graph.tasks.indices where !isStopped { carryOut(task) }
    } else {
      state.lock()
      threads = scheduler.units.count
      for (index, unit) in scheduler.units.enumerated() {
        let thread = Thread { [self] in serve(index) }
        thread.name = "troika-run-\(unit.name)"
        thread.stackSize = 8 << 20
        thread.start()
      }
      while threads > 0 { state.wait() }
      state.unlock()
    }
    if let failure { throw failure }
    return outcome
  }

  /// Carries out the tasks of one unit.
  private func serve(_ unit: Int) {
    state.lock()
    while !isStopped, !scheduler.isDone {
      guard let task = scheduler.start(on: unit) else {
        state.wait()
        continue
      }
      state.unlock()
      carryOut(task)
      state.lock()
      scheduler.finish(task)
      state.broadcast()
    }
    threads -= 1
    state.broadcast()
    state.unlock()
  }

  private func carryOut(_ task: Int) {
    asking.lock()
    let goesOn = goesOn(task)
    asking.unlock()
    guard goesOn else { return stop(nil) }
    let start = MonotonicClock.nanoseconds
    do {
      let report = try work[task]()
      state.lock()
      outcome.reports[task] = report
      outcome.nanoseconds[task] = MonotonicClock.nanoseconds - start
      state.unlock()
    } catch {
      stop(error)
    }
  }

  private func stop(_ error: (any Error)?) {
    state.lock()
    isStopped = true
    failure = failure ?? error
    state.broadcast()
    state.unlock()
  }
}
