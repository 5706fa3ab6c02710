import Foundation
public import Graph

/// A point on a unit's timeline that a launch reaches when it is over.
public final class Moment: @unchecked Sendable {
  private let condition = NSCondition()
  private var outcome: Result<Timeline.Event, any Error>?

  /// A moment still to come.
  init() {}

  /// A moment that has come.
  public static let now: Moment = {
    let moment = Moment()
    moment.reach(
      .success(
        Timeline.Event(unit: .cpu, program: "", startNanoseconds: 0, endNanoseconds: 0)))
    return moment
  }()

  func reach(_ result: Result<Timeline.Event, any Error>) {
    condition.lock()
    outcome = result
    condition.broadcast()
    condition.unlock()
  }

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

/// The one queue of a unit: launches run one after another on a thread of their own.
final class UnitQueue: @unchecked Sendable {
  private struct Job {
    let program: String
    let after: [Moment]
    let moment: Moment
    let work: () throws -> Void
  }

  let unit: UnitID
  private let condition = NSCondition()
  private var jobs: [Job] = []
  private var isClosed = false

  init(unit: UnitID) {
    self.unit = unit
    let thread = Thread { [weak self, condition] in
      while true {
        condition.lock()
        while let queue = self, queue.jobs.isEmpty, !queue.isClosed {
          condition.wait(until: Date(timeIntervalSinceNow: 1))
        }
        guard let queue = self, !queue.jobs.isEmpty else {
          condition.unlock()
          return
        }
        let job = queue.jobs.removeFirst()
        condition.unlock()
        queue.run(job)
      }
    }
    thread.name = "troika-\(unit.name)"
    thread.stackSize = 8 << 20
    thread.start()
  }

  deinit {
    condition.lock()
    isClosed = true
    condition.broadcast()
    condition.unlock()
  }

  func submit(
    _ program: String, after: [Moment], _ work: @escaping () throws -> Void
  ) -> Moment {
    let moment = Moment()
    condition.lock()
    jobs.append(Job(program: program, after: after, moment: moment, work: work))
    condition.signal()
    condition.unlock()
    return moment
  }

  private func run(_ job: Job) {
    do {
      for moment in job.after { try moment.wait() }
      let start = MonotonicClock.nanoseconds
      try job.work()
      job.moment.reach(
        .success(
          Timeline.Event(
            unit: unit, program: job.program, startNanoseconds: start,
            endNanoseconds: MonotonicClock.nanoseconds)))
    } catch {
      job.moment.reach(.failure(error))
    }
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
