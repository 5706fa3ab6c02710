import Graph

/// What programs take on a device, priced once for each unit and fill.
///
/// Not shared between threads.
final class PriceBook {
  /// A part of a program on one unit.
  struct Run {
    let unit: UnitID
    let cost: LaunchCost
    let task: TaskCost
  }

  /// A program with what its parts take, and the caches it touches.
  struct Program {
    let work: PlannedWork
    let runs: [Run]
  }

  let profile: DeviceProfile
  let works: WorkBook
  private var known: [Key: Program] = [:]
  private var dealt: [ShapesKey: [Int]] = [:]

  private struct ShapesKey: Hashable {
    let count: Int
    let tokens: [Int]
    let units: [UnitID]
  }

  private struct Key: Hashable {
    let entry: WorkBook.Entry
    let fill: LaunchFill
  }

  init(_ works: WorkBook, _ profile: DeviceProfile) {
    self.works = works
    self.profile = profile
  }

  /// A program's price under a placement; parts that take no time are left out.
  ///
  /// - Throws: where it cannot be traced, or a unit is not available.
  func program(
    _ key: ProgramStore.Key,
    _ fill: LaunchFill,
    _ placement: Placement
  ) throws -> Program {
    let index = Key(entry: WorkBook.Entry(key, placement), fill: fill)
    if let program = known[index] { return program }
    let work = try works.work(key, placement)
    var runs: [Run] = []
    var previous: UnitID?
    for run in work.runs {
      let leaves = !run.isMovement && previous.map { $0 != run.unit } ?? false
      let cost = cost(run, fill, key.tower, leaving: leaves ? previous : nil)
      if !run.isMovement { previous = run.unit }
      if cost.nanoseconds == 0, run.isMovement { continue }
      runs.append(Run(unit: run.unit, cost: cost, task: task(cost, on: run.unit)))
    }
    let program = Program(work: work, runs: runs)
    // Fills differ with every position of a prompt; what is cheap to price again need not stay.
    if known.count > 4096 { known = [:] }
    known[index] = program
    return program
  }

  /// How a prompt is dealt out to programs on some units, worked out once.
  func shapes(
    of count: Int,
    _ tokens: [Int],
    _ units: [UnitID],
    _ make: () throws -> [Int]
  ) rethrows -> [Int] {
    let key = ShapesKey(count: count, tokens: tokens, units: units)
    if let shapes = dealt[key] { return shapes }
    let shapes = try make()
    dealt[key] = shapes
    return shapes
  }

  /// The host's figures, each so many times.
  func host(_ times: [(HostFigure, Double)]) -> Run {
    var cost = LaunchCost(nanoseconds: 0, low: 0, high: 0, sharedByteCount: 0)
    for (name, count) in times {
      guard let figure = profile.host[name] else { continue }
      cost.nanoseconds += figure.value * count
      cost.low += figure.low * count
      cost.high += figure.high * count
    }
    return Run(unit: .host, cost: cost, task: task(cost, on: .host))
  }

  private func cost(
    _ run: PlannedWork.Run,
    _ fill: LaunchFill,
    _ tower: Tower?,
    leaving left: UnitID?
  ) -> LaunchCost {
    guard let unit = profile.units[run.unit] else {
      return LaunchCost(nanoseconds: 0, low: 0, high: 0, sharedByteCount: 0)
    }
    var cost = unit.cost(run.work, fill: fill, tower: tower, modelError: profile.modelError)
    if let left, let handover = profile.units[left]?.figures[.handoverNanoseconds] {
      cost.nanoseconds += handover.value
      cost.low += handover.low
      cost.high += handover.high
    }
    return cost
  }

  /// What the simulator is given of a cost.
  func task(_ cost: LaunchCost, on unit: UnitID) -> TaskCost {
    let own = profile.units[unit]
    return TaskCost(
      nanoseconds: Int(clamping: cost.nanoseconds.rounded()),
      sharedByteCount: cost.sharedByteCount,
      processors: own?.processors ?? 0,
      wakeNanoseconds: Int(clamping: (own?[.wakeNanoseconds] ?? 0).rounded()),
      wakeAfterNanoseconds: Int(clamping: (own?[.wakeAfterNanoseconds] ?? 0).rounded())
    )
  }
}
