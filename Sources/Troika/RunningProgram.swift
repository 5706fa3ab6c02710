import Devices
import Graph

/// One program on its way: run, and run again on the next allowed unit where its unit fails.
///
/// A launch that may be repeated keeps the rows of caches that it is going to write, and a
/// repetition begins by putting them back: it reads what the first launch read. Everything else
/// that a program writes is memory of its own, new for each launch. Not shared between threads.
final class RunningProgram {
  /// What a program made.
  struct Result {
    /// Its outputs by name, caches excluded.
    var outputs: [String: Value] = [:]
    /// Caches that lie elsewhere from now on, by name.
    var states: [String: Value] = [:]
    /// What ran when, launches that failed included.
    var events: [Timeline.Event] = []
    /// What the user should know about units that failed.
    var warnings: [String] = []
  }

  /// What is launched.
  struct Request {
    let key: ProgramStore.Key
    /// Values by name.
    let inputs: [String: Value]
    /// Caches by name.
    var states: [String: Value] = [:]
    /// Rows of the results that mean something; those behind them are padding.
    let rows: Int
  }

  private let store: ProgramStore
  private var request: Request
  private var result = Result()
  private var failed: Set<UnitID> = []
  private var program: Program?
  /// The launch that is under way.
  private var moment: Moment?
  private var bindings: [String: Value] = [:]
  private var written: WrittenRows?
  private var kept: Buffer?
  private var launched = 0

  /// A program that is to run once.
  init(_ request: Request, in store: ProgramStore) {
    self.request = request
    self.store = store
  }

  /// Runs the program.
  ///
  /// - Returns: what it made.
  /// - Throws: where it can be compiled on no allowed unit, a binding does not fit, or
  ///   `DeviceError` of the unit that failed, where no other may take its place.
  func run() throws -> Result {
    while true {
      let program = try prepare()
      do {
        let events = try program.segments.indices.map { try run(program, segment: $0) }
        try checkNumbers()
        result.events += events
        return result
      } catch let error as DeviceError {
        giveUp(error)
        try moveAway(from: error)
        try restore(error)
      }
    }
  }

  /// Finds the program and gives it memory.
  private func prepare() throws -> Program {
    while true {
      do {
        launched = MonotonicClock.nanoseconds
        program = nil
        let (program, isNew) = try store.found(request.key)
        self.program = program
        if isNew { noteCompiling(program) }
        result.outputs = try program.allocateOutputs(except: request.states)
        bindings = request.inputs.merging(request.states) { $1 }.merging(result.outputs) { $1 }
        let written = WrittenRows(of: program.graph, bindings)
        self.written = written
        kept = store.failures.allowsFallback && program.leavesProcessor ? try written.kept() : nil
        return program
      } catch let error as DeviceError {
        try moveAway(from: error)
      }
    }
  }

  /// Takes note of the time that compiling took: its unit ran nothing meanwhile.
  private func noteCompiling(_ program: Program) {
    let unit = program.segments.first { $0.unit != .cpu }?.unit ?? .cpu
    result.events.append(
      Timeline.Event(
        unit: unit,
        program: "\(program.graph.name) (compile)",
        kind: .compile,
        startNanoseconds: launched,
        endNanoseconds: MonotonicClock.nanoseconds
      )
    )
    launched = MonotonicClock.nanoseconds
  }

  /// Leaves the launch to itself; of what comes behind it nothing begins any more.
  private func giveUp(_ error: DeviceError) {
    moment?.giveUp(error)
    guard error.losesUnit, let unit = error.unit, let program else { return }
    store.failures.keep(program, bindings, lostBy: unit)
  }

  private func run(_ program: Program, segment index: Int) throws -> Timeline.Event {
    let (name, unit) = (program.graph.name, program.segments[index].unit)
    let limit = store.failures.limit(work: program.work[index], on: unit)
    return try program.run(segment: index, &bindings) { moment in
      self.moment = moment
      return try moment.wait(
        atMost: limit,
        tooLong: {
          DeviceError.timedOut(unit: unit.name, program: name, milliseconds: limit / 1_000_000)
        },
        inVain: { [failures = store.failures] in
          guard failures.isLost(unit) else { return nil }
          return DeviceError.lost(unit: unit.name, program: name, reason: "the unit is lost")
        }
      )
    }
  }

  /// Looks for NaN in everything the program hands on.
  private func checkNumbers() throws(DeviceError) {
    guard let program, store.failures.checksNumbers else { return }
    for output in program.graph.outputs where !request.key.taps.contains(output.name) {
      guard let value = result.outputs[output.name] else { continue }
      if value.rows(0, count: min(request.rows, value.type.shape[0])).containsNaN {
        throw notANumber(program, output.name)
      }
    }
    for piece in written?.pieces ?? [] where piece.rows.containsNaN {
      throw notANumber(program, piece.name)
    }
  }

  /// NaN among a program's results: the fault of the first unit that handed any on.
  private func notANumber(_ program: Program, _ name: String) -> DeviceError {
    let culprit = program.segments.first { segment in
      segment.graph.outputs.contains { !$0.isState && bindings[$0.name]?.containsNaN == true }
    }
    let unit = culprit?.unit ?? program.segments.last { $0.unit != .cpu }?.unit ?? .cpu
    return .notANumber(unit: unit.name, program: program.graph.name, output: name)
  }

  /// Sends the part away from the unit that failed it.
  ///
  /// - Throws: the error itself, where the part may run nowhere else.
  private func moveAway(from error: DeviceError) throws {
    let part = request.key.part
    guard store.failures.note(error, in: part), let unit = error.unit,
      failed.insert(unit).inserted
    else { throw error }
    let avoided = store.failures.avoided(by: part).intersection(store.placement.units)
    let next = try store.next(request.key, avoiding: avoided)
    let name = program?.graph.name ?? error.program ?? "\(part)"
    let subject = error.losesUnit ? "all that is placed there leaves it, this part runs" : "runs"
    result.warnings.append(
      "\(unit): \(name) failed (\(error.reason)); \(subject) on the \(next) from here on"
    )
    result.events.append(
      Timeline.Event(
        unit: unit,
        program: "\(name) (failed)",
        kind: .fault,
        startNanoseconds: launched,
        endNanoseconds: MonotonicClock.nanoseconds
      )
    )
  }

  /// Makes the caches what they were before the launch.
  ///
  /// What a lost unit may still write goes to memory that nobody reads any more.
  private func restore(_ error: DeviceError) throws {
    guard let kept, let written else { return }
    self.kept = nil
    guard error.losesUnit, let graph = program?.graph else { return written.restore(kept) }
    for output in graph.outputs where output.isState {
      guard let old = request.states[output.name] else { continue }
      let new = try Value(old.type)
      new.pointer.copyMemory(from: old.pointer, byteCount: old.type.byteCount)
      request.states[output.name] = new
      result.states[output.name] = new
    }
    WrittenRows(of: graph, request.inputs.merging(request.states) { $1 }).restore(kept)
  }
}

extension Program {
  /// Whether any of it runs elsewhere than on the processor.
  fileprivate var leavesProcessor: Bool { segments.contains { $0.unit != .cpu } }
}
