import CKernels
import Foundation
public import Graph

/// A point on a unit's timeline that a launch reaches when it is over.
public final class Moment: @unchecked Sendable {
  private let condition = NSCondition()
  private var outcome: Result<Timeline.Event, any Error>?
  private var start: Int?
  private var watchers: [@Sendable () -> Void] = []

  /// A moment still to come.
  init() {}

  /// Notes that the launch runs from now on.
  ///
  /// - Returns: false where it was given up and must not run any more.
  func begin() -> Bool {
    condition.lock()
    defer { condition.unlock() }
    guard outcome == nil else { return false }
    start = MonotonicClock.nanoseconds
    return true
  }

  /// Ends the launch; what comes after the first end is of no account.
  func reach(_ result: Result<Timeline.Event, any Error>) {
    condition.lock()
    if outcome == nil { outcome = result }
    let waiting = watchers
    watchers = []
    condition.broadcast()
    condition.unlock()
    waiting.forEach { $0() }
  }

  /// Whether the moment has come.
  var isOver: Bool {
    condition.lock()
    defer { condition.unlock() }
    return outcome != nil
  }

  /// Calls a closure when the moment has come; at once where it has.
  func whenOver(_ body: @escaping @Sendable () -> Void) {
    condition.lock()
    let isOver = outcome != nil
    if !isOver { watchers.append(body) }
    condition.unlock()
    if isOver { body() }
  }

  /// Makes a launch that is not over fail: if it has not begun it never will; if it has, what it
  /// still writes is nobody's.
  public func giveUp(_ error: any Error) { reach(.failure(error)) }

  /// Blocks until the moment has come, and gives it up where that takes too long.
  ///
  /// - Parameters:
  ///   - nanoseconds: how long the launch may run, pauses of the whole process left out.
  ///   - tooLong: the error where it runs longer.
  ///   - inVain: asked while the launch waits for its turn: the error where that will not come.
  /// - Returns: when the launch ran.
  /// - Throws: what made the launch fail.
  public func wait(
    atMost nanoseconds: Int,
    tooLong: () -> any Error,
    inVain: () -> (any Error)?
  ) throws -> Timeline.Event {
    condition.lock()
    var (charged, last) = (0, 0)
    while outcome == nil {
      var slice = Self.slice
      var problem: (any Error)?
      if let start {
        // A slice that took far longer is one in which this process could not run either.
        let now = MonotonicClock.nanoseconds
        charged += min(now - max(last, start), 2 * Self.slice)
        last = now
        let left = nanoseconds - charged
        if left <= 0 { problem = tooLong() }
        slice = min(slice, left)
      } else {
        problem = inVain()
      }
      if let problem {
        condition.unlock()
        reach(.failure(problem))
        condition.lock()
        continue
      }
      _ = condition.wait(until: Date(timeIntervalSinceNow: Double(slice) / 1e9))
    }
    condition.unlock()
    return try wait()
  }

  /// Nanoseconds after which a waiting thread looks round.
  private static let slice = 50_000_000

  /// Blocks until the moment has come.
  ///
  /// - Returns: when the launch ran.
  /// - Throws: what made the launch fail.
  @discardableResult
  public func wait() throws -> Timeline.Event {
    condition.lock()
    while outcome == nil { condition.wait() }
    let result = outcome
    condition.unlock()
    guard let result else {
      throw DeviceError.launch(unit: "queue", program: "", reason: "no outcome")
    }
    return try result.get()
  }
}

/// The one queue of a unit: launches run one after another on a thread of their own, each once the
/// moments it waits for have come; of those that may run the one that was launched first goes first.
final class UnitQueue: Sendable {
  private let line: WaitingLine
  private let processor: Int?

  /// A queue whose thread stays on a processor where one is given: the thread works on loops beside
  /// others that stay on theirs.
  init(unit: UnitID, processor: Int? = nil) {
    let line = WaitingLine(unit: unit)
    self.line = line
    self.processor = processor
    let thread = Thread {
      if let processor { _ = tk_pin_thread(Int32(processor), nil) }
      while line.runNext() {}
    }
    thread.name = "troika-\(unit.name)"
    thread.stackSize = 8 << 20
    thread.start()
  }

  deinit { line.close() }

  /// Runs work on the calling thread, which is spared two changes of threads: for the time of the
  /// work the thread stays on the queue's processor, and launches wait for it as for one another.
  ///
  /// - Returns: when the work ran; nil, and nothing has run, where launches run or wait.
  /// - Throws: what the work throws.
  func perform(_ program: String, _ work: () throws -> Void) rethrows -> Timeline.Event? {
    guard line.enter() else { return nil }
    defer { line.leave() }
    var before = tk_processors()
    let isPinned = processor.map { tk_pin_thread(Int32($0), &before) } ?? false
    defer { if isPinned { tk_unpin_thread(&before) } }
    let start = MonotonicClock.nanoseconds
    try work()
    return Timeline.Event(
      unit: line.unit,
      program: program,
      startNanoseconds: start,
      endNanoseconds: MonotonicClock.nanoseconds
    )
  }

  func submit(
    _ program: String,
    after: [Moment],
    _ work: @escaping () throws -> Void
  ) -> Moment {
    let moment = Moment()
    let unit = line.unit
    line.append(after: after) {
      do {
        for earlier in after { try earlier.wait() }
        guard moment.begin() else { return }
        let start = MonotonicClock.nanoseconds
        try work()
        moment.reach(
          .success(
            Timeline.Event(
              unit: unit,
              program: program,
              startNanoseconds: start,
              endNanoseconds: MonotonicClock.nanoseconds
            )
          )
        )
      } catch {
        moment.reach(.failure(error))
      }
    }
    return moment
  }
}

/// Jobs that wait for a unit's thread.
private final class WaitingLine: @unchecked Sendable {
  private struct Job {
    let after: [Moment]
    let run: () -> Void
  }

  let unit: UnitID
  private let condition = NSCondition()
  private var jobs: [Job] = []
  private var isClosed = false
  /// Whether a launch runs, on the unit's thread or another one.
  private var isRunning = false

  init(unit: UnitID) { self.unit = unit }

  func append(after: [Moment], _ run: @escaping () -> Void) {
    condition.lock()
    jobs.append(Job(after: after, run: run))
    condition.signal()
    condition.unlock()
    // Also those that have come since: the line may have looked before.
    for moment in after { moment.whenOver { [weak self] in self?.wake() } }
  }

  private func wake() {
    condition.lock()
    condition.signal()
    condition.unlock()
  }

  /// Lets a thread run a launch of its own, where nothing runs or waits.
  func enter() -> Bool {
    condition.lock()
    defer { condition.unlock() }
    guard !isRunning, jobs.isEmpty else { return false }
    isRunning = true
    return true
  }

  /// Ends what `enter` let begin.
  func leave() {
    condition.lock()
    isRunning = false
    if !jobs.isEmpty || isClosed { condition.signal() }
    condition.unlock()
  }

  /// Runs the next job that need not wait; false when the line is closed and empty.
  func runNext() -> Bool {
    guard let job = next() else { return false }
    job()
    leave()
    return true
  }

  private func next() -> (() -> Void)? {
    condition.lock()
    defer { condition.unlock() }
    while true {
      if !isRunning, let index = jobs.firstIndex(where: { $0.after.allSatisfy(\.isOver) }) {
        isRunning = true
        return jobs.remove(at: index).run
      }
      if jobs.isEmpty, isClosed { return nil }
      condition.wait()
    }
  }

  func close() {
    condition.lock()
    isClosed = true
    condition.broadcast()
    condition.unlock()
  }
}

/// Nanoseconds of the clock that every timeline of this process uses.
public enum MonotonicClock {
  /// Now.
  public static var nanoseconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
