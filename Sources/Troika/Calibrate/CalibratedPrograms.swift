import Devices
import Graph
import Models

/// The programs that a machine is measured by, ready to run on each unit in turns.
final class CalibratedPrograms {
  private var programs: [TimedProgram] = []
  private(set) var measured: [MeasuredProgram] = []
  private var isLong: [Bool] = []
  private var rounds = 0

  /// Compiles the programs for each unit.
  ///
  /// - Throws: where a unit is not available or declines a program.
  init(_ folder: ModelFolder, _ registry: Registry, units: Set<UnitID>) throws {
    let source = CalibrationPrograms(
      model: folder.model,
      context: folder.context,
      prefill: folder.prefill
    )
    for unit in units.sorted(by: { $0.name < $1.name }) {
      let store = ProgramStore(
        model: folder.model,
        weights: folder.weights,
        registry: registry,
        placement: Placement(base: unit)
      )
      var compiled: [ProgramStore.Key: TimedProgram] = [:]
      for entry in try source.entries(store) {
        let program =
          try compiled[entry.key]?.standing(at: entry.position, in: folder.model)
          ?? TimedProgram(entry.key, in: store, position: entry.position)
        compiled[entry.key] = program
        programs.append(program)
        isLong.append(entry.isLong)
        measured.append(
          MeasuredProgram(
            unit: unit,
            work: PlannedWork(
              name: program.name,
              unit: unit,
              program.program.graph,
              program.program.segments
            ),
            fill: LaunchFill(position: entry.position),
            samples: []
          )
        )
      }
    }
  }

  /// Runs every program once; long ones in every other round.
  ///
  /// Programs find the caches as others leave them, as they do in a request.
  ///
  /// - Parameters:
  ///   - isWarmUp: whether its time counts not.
  ///   - progress: called with the share that is done.
  /// - Throws: where a program fails.
  func round(isWarmUp: Bool, _ progress: (Double) -> Void) throws {
    for index in programs.indices {
      progress(Double(index) / Double(programs.count))
      if isLong[index], !isWarmUp, rounds % 2 == 1 { continue }
      let start = MonotonicClock.nanoseconds
      _ = try programs[index].run()
      let time = Double(MonotonicClock.nanoseconds - start)
      if !isWarmUp { measured[index].samples.append(time) }
    }
    if !isWarmUp { rounds += 1 }
  }
}
