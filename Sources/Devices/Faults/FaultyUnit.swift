import Foundation
import Graph

/// A unit on which the faults of a plan happen; everything else is the unit's own.
///
/// Launches run one after another on a queue of its own, so that a launch that hangs keeps the ones
/// behind it waiting, as on a device.
final class FaultyUnit: ComputeUnit {
  let inner: any ComputeUnit
  private let plan: FaultPlan
  private let record = FaultRecord()
  private let gate = Gate()
  private let queue: UnitQueue

  init(_ inner: any ComputeUnit, _ plan: FaultPlan) {
    self.inner = inner
    self.plan = plan
    queue = UnitQueue(unit: inner.profile.unit)
  }

  deinit { release() }

  /// Lets launches that hang go on: they write nonsense where their results belong, and fail.
  func release() { gate.open() }

  var profile: UnitProfile { inner.profile }

  func allocate(byteCount: Int) throws(DeviceError) -> Buffer {
    try inner.allocate(byteCount: byteCount)
  }

  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable {
    let unit = profile.unit
    let program = segment.programName
    if record.isGone {
      throw DeviceError.lost(unit: unit.name, program: program, reason: Self.goneReason)
    }
    let fault = plan.faults.first {
      $0.concerns(unit) && $0.strikesCompilation(of: program)
    }
    if let fault {
      throw DeviceError.compilation(unit: unit.name, program: program, reason: "injected \(fault)")
    }
    return FaultyExecutable(
      inner: try inner.compile(segment, over: source),
      segment: segment,
      plan: plan,
      record: record,
      gate: gate,
      queue: queue
    )
  }

  func footprint(of segment: Segment) throws -> Footprint { try inner.footprint(of: segment) }

  func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    inner.copy(source, to: target, after: after)
  }

  fileprivate static let goneReason = "the unit is gone"
}

private struct FaultyExecutable: Executable {
  let inner: any Executable
  let segment: Segment
  let plan: FaultPlan
  let record: FaultRecord
  let gate: Gate
  let queue: UnitQueue

  var footprint: Footprint { inner.footprint }

  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
    try segment.graph.check(bindings)
    return queue.submit(segment.graph.name, after: after) { try run(bindings) }
  }

  private func run(_ bindings: [String: Value]) throws {
    let (unit, program) = (segment.unit.name, segment.programName)
    let lost = DeviceError.lost(unit: unit, program: program, reason: FaultyUnit.goneReason)
    guard let count = record.next(segment.graph.name) else { throw lost }
    let fault = plan.fault(
      on: segment.unit,
      launch: count.launch,
      of: program,
      turn: count.turn
    )
    let start = MonotonicClock.nanoseconds
    switch fault?.kind {
    case .gone:
      record.vanish()
      throw lost
    case .hang:
      gate.pass()
      spoil(bindings)
      throw lost
    default: try inner.launch(bindings, after: []).wait()
    }
    switch fault?.kind {
    case .fail:
      spoil(bindings)
      let reason = fault.map { "injected \($0)" } ?? ""
      throw DeviceError.launch(unit: unit, program: program, reason: reason)
    case .nan: spoil(bindings)
    case .slow(let factor):
      let elapsed = Double(MonotonicClock.nanoseconds - start) / 1e9
      Thread.sleep(forTimeInterval: elapsed * (factor - 1))
    default: break
    }
  }

  /// Makes every number NaN that the launch wrote, rows of caches included.
  private func spoil(_ bindings: [String: Value]) {
    for output in segment.graph.outputs where !output.isState {
      bindings[output.name]?.fillWithNaN()
    }
    for piece in WrittenRows(of: segment.graph, bindings).pieces { piece.rows.fillWithNaN() }
  }
}

extension Segment {
  /// The name of the program that the segment was cut from.
  var programName: String {
    graph.name.split(separator: "/").first.map(String.init) ?? graph.name
  }
}

/// What has been launched on a unit.
private final class FaultRecord: Sendable {
  private struct Counts {
    var launches = 0
    var turns: [String: Int] = [:]
    var isGone = false
  }

  private let counts = Protected(Counts())

  var isGone: Bool { counts.update { $0.isGone } }

  func vanish() { counts.update { $0.isGone = true } }

  /// Counts a launch of a segment; nil where the unit is gone.
  func next(_ segment: String) -> (launch: Int, turn: Int)? {
    counts.update { counts in
      guard !counts.isGone else { return nil }
      counts.launches += 1
      let turn = (counts.turns[segment] ?? 0) + 1
      counts.turns[segment] = turn
      return (counts.launches, turn)
    }
  }
}

/// What launches that hang wait for: the end of their unit.
private final class Gate: @unchecked Sendable {
  private let condition = NSCondition()
  private var isOpen = false

  func pass() {
    condition.lock()
    while !isOpen { condition.wait() }
    condition.unlock()
  }

  func open() {
    condition.lock()
    isOpen = true
    condition.broadcast()
    condition.unlock()
  }
}
