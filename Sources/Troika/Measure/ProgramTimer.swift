import Devices
import Graph

/// Work that can be done over and over; doing it once is one sample.
protocol TimedWork {
  /// What reports call it.
  var name: String { get }
  /// Does it and waits for it.
  ///
  /// - Returns: what units ran meanwhile.
  /// - Throws: what makes it fail.
  func run() throws -> [Timeline.Event]
}

/// How long a piece of work took each time, in nanoseconds.
struct Timing: Hashable, Sendable {
  /// The first call: pages come into memory, drivers compile.
  var first = 0
  /// Calls that only warm up, in order, also those between samples.
  var warmUp: [Int] = []
  /// Calls in the steady state, in order.
  var steady: [Int] = []
  /// Of each steady call what units were running something; the rest is what launching costs.
  var busy: [Int] = []
  /// The round of each steady call, rising.
  var rounds: [Int] = []
  /// Steady calls by index, rising, around which other work had processors.
  var disturbed: [Int] = []

  /// Nanoseconds of all calls.
  var total: Int { first + warmUp.reduce(0, +) + steady.reduce(0, +) }
}

/// Times pieces of work in rounds: each of them once a round, so that whatever else the machine does
/// falls on all of them alike.
///
/// ```swift
/// let store = troika.store  // or one over `Placement(base: unit)`
/// let programs = try keys.map { try TimedProgram($0, in: store, position: 100) }
/// let timings = try ProgramTimer(repeats: 20).time(programs)
/// ```
struct ProgramTimer {
  /// Calls after the first that are not samples.
  var warmUps = 2
  /// Rounds, and samples of work that fits the budget.
  var repeats = 30
  /// Samples of slow work, spread evenly over the rounds.
  var fewest = 10
  /// What the samples of one piece of work may take; slow work gets fewer, never below `fewest`.
  var budgetNanoseconds = 10_000_000_000
  /// Work that takes less is called once more before each sample, so that it finds the caches as it
  /// left them itself; longer work fills them anew anyway.
  var leadNanoseconds = 2_000_000
  /// Where the time comes from.
  var clock: () -> Int = { MonotonicClock.nanoseconds }
  /// Processor time that other processes have taken so far.
  var others: () -> Int = { OtherWork.nanoseconds }

  /// Times pieces of work.
  ///
  /// - Parameters:
  ///   - works: what is timed, in the order of a round.
  ///   - constant: how many works at the front take part in every round, whatever they take.
  ///   - progress: called before each call with how many are over and how many there are.
  /// - Returns: a timing for each, in their order.
  /// - Throws: what makes a call fail, or `progress` throws.
  func time(
    _ works: [any TimedWork],
    constant: Int = 0,
    progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> [Timing] {
    var timings = [Timing](repeating: Timing(), count: works.count)
    var done = 0
    var total = works.count * (1 + warmUps + repeats)
    func call(_ index: Int) throws -> (wall: Int, busy: Int) {
      try progress(done, total)
      done += 1
      let start = clock()
      let events = try works[index].run()
      return (clock() - start, events.reduce(0) { $0 + $1.endNanoseconds - $1.startNanoseconds })
    }
    for index in works.indices { timings[index].first = try call(index).wall }
    for _ in 0..<warmUps {
      for index in works.indices { timings[index].warmUp.append(try call(index).wall) }
    }
    let counts = timings.indices.map { $0 < constant ? repeats : samples(of: timings[$0]) }
    let isShort = timings.map { expected(of: $0) < leadNanoseconds }
    total = done + counts.indices.reduce(0) { $0 + counts[$1] * (isShort[$1] ? 2 : 1) }
    var marks = RoundMarks(time: clock(), others: others())
    for round in 0..<repeats {
      for index in works.indices where isDue(counts[index], in: round) {
        if isShort[index] { timings[index].warmUp.append(try call(index).wall) }
        let (wall, busy) = try call(index)
        timings[index].steady.append(wall)
        timings[index].busy.append(busy)
        timings[index].rounds.append(round)
      }
      marks.append(time: clock(), others: others())
    }
    let disturbed = Set((0..<repeats).filter { marks.isDisturbed($0) })
    for index in works.indices {
      let rounds = timings[index].rounds
      timings[index].disturbed = rounds.indices.filter { disturbed.contains(rounds[$0]) }
    }
    return timings
  }

  /// How many samples fit the budget.
  private func samples(of timing: Timing) -> Int {
    min(repeats, max(fewest, budgetNanoseconds / expected(of: timing)))
  }

  private func expected(of timing: Timing) -> Int { max(timing.warmUp.last ?? timing.first, 1) }

  /// Spreads samples evenly over the rounds.
  private func isDue(_ count: Int, in round: Int) -> Bool {
    (round + 1) * count / repeats > round * count / repeats
  }
}
