import Devices
import Foundation
import Graph
import Models

/// One run of a benchmark.
struct BenchRun {
  /// A stage on a unit, not yet compiled.
  private struct Entry {
    let name: String
    let unit: UnitID
    let work: Work

    enum Work {
      case host(HostWork)
      case program(ProgramStage, in: ProgramStore)
    }

    /// Stages whose names begin alike are timed together.
    var group: Substring { name.prefix { $0 != "." } }
  }

  private let benchmark: Benchmark
  private let start: Int
  private var entries: [Entry] = []
  private var report: BenchReport
  private let scratch: URL

  init(_ benchmark: Benchmark) {
    self.benchmark = benchmark
    start = benchmark.clock()
    scratch = benchmark.options.scratch
    report = BenchReport(
      machine: .current(
        benchmark.registry,
        threads: benchmark.threads,
        device: benchmark.load.gpu.device
      ),
      model: benchmark.folder.path,
      shapes: "",
      suite: benchmark.suite.name
    )
    report.shares = [
      "open", "prepare", "limits", "build", "compile", "bind", "first call", "warm-up", "steady",
      "yardsticks", "release",
    ].map { .init(name: $0, nanoseconds: 0) }
    add(benchmark.folder.openNanoseconds, to: "open")
    add(benchmark.clock() - start, to: "prepare")
  }

  private mutating func add(_ nanoseconds: Int, to name: String) {
    guard let index = report.shares.firstIndex(where: { $0.name == name }) else { return }
    report.shares[index].nanoseconds += nanoseconds
  }

  // MARK: - Before anything is timed

  /// Finds the stages, opens the units and writes the files.
  mutating func prepare() throws {
    let begin = benchmark.clock()
    defer { add(benchmark.clock() - begin, to: "prepare") }
    let stages = try benchmark.stages()
    let ends = stages.layout.ranges.map { "\($0.upperBound)" }.joined(separator: ",")
    report.shapes = "chunks \(ends), context \(stages.context)"
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    let host = HostStages(
      processor: benchmark.folder.processor,
      suite: benchmark.suite,
      vocabularySize: benchmark.folder.model.configuration.text.vocabularySize,
      folder: scratch,
      files: benchmark.options.files,
      isWanted: benchmark.isWanted
    )
    var all = try host.works().map {
      Entry(name: $0.name, unit: BenchReport.host, work: .host($0))
    }
    for store in try benchmark.stores(stages) {
      for stage in try stages.programs(store) {
        let unit = store.placement.unit(of: stage.part)
        guard !all.contains(where: { $0.name == stage.name && $0.unit == unit }) else { continue }
        all.append(Entry(name: stage.name, unit: unit, work: .program(stage, in: store)))
      }
    }
    entries = all.filter { benchmark.isWanted($0.name) }
    guard !entries.isEmpty else {
      throw TroikaError.option(
        name: "stages",
        expected: "beginnings of stages or globs (decode, preprocess, vision, audio, embed, chunk, "
          + "head, sample)",
        got: benchmark.options.stages.joined(separator: ",")
      )
    }
  }

  /// Measures how fast the units of stages are at most.
  private mutating func measureLimits(_ probe: LimitProbe) throws {
    let begin = benchmark.clock()
    defer { add(benchmark.clock() - begin, to: "limits") }
    report.limits = try probe.measured(report.limits)
  }

  /// The units that have stages, in the order of these.
  private var units: [UnitID] {
    entries.reduce(into: []) { units, entry in
      if entry.unit != BenchReport.host, !units.contains(entry.unit) { units.append(entry.unit) }
    }
  }

  private var timer: ProgramTimer {
    ProgramTimer(
      warmUps: benchmark.options.warmUps,
      repeats: benchmark.options.repeats,
      fewest: min(benchmark.options.fewest, benchmark.options.repeats),
      budgetNanoseconds: Int(benchmark.options.secondsPerStage * 1e9),
      clock: benchmark.clock,
      others: benchmark.others
    )
  }

  // MARK: - Stages

  /// Times the stages group by group, all units of a group in turns.
  mutating func measureStages(_ progress: (RequestProgress) -> Void) throws {
    let begin = benchmark.clock()
    var yardsticks = try Yardstick.Kind.allCases.map {
      try Yardstick($0, benchmark.yardstick, threads: benchmark.threads)
    }
    var probe: LimitProbe? = try LimitProbe(units, benchmark.probe, in: benchmark.registry, timer)
    add(benchmark.clock() - begin, to: "prepare")
    var groups: [Substring] = []
    for entry in entries where groups.last != entry.group && !groups.contains(entry.group) {
      groups.append(entry.group)
    }
    for group in groups {
      if let probe { try measureLimits(probe) }
      try measure(entries.filter { $0.group == group }, yardsticks) { done, total in
        progress(RequestProgress(stage: "bench \(group)", done: done, total: total))
      }
    }
    releasing {
      probe = nil
      yardsticks = []
    }
  }

  private mutating func measure(
    _ group: [Entry],
    _ yardsticks: [Yardstick],
    _ progress: (Int, Int) -> Void
  ) throws {
    var rows: [BenchReport.Row] = []
    var works: [any TimedWork] = yardsticks
    var programs: [ObjectIdentifier: [ProgramStore.Key: TimedProgram]] = [:]
    for entry in group {
      var row = BenchReport.Row(stage: entry.name, unit: entry.unit, samples: .init([]))
      switch entry.work {
      case .host(let work): works.append(work)
      case .program(let stage, let store):
        let id = ObjectIdentifier(store)
        let known = programs[id]?[stage.key]
        guard let program = try program(stage, store, known, entry, &row) else { continue }
        programs[id, default: [:]][stage.key] = program
        works.append(program)
      }
      rows.append(row)
    }
    let timings = try timer.time(works, constant: yardsticks.count, progress: progress)
    for (index, timing) in timings.enumerated() {
      let isYardstick = index < yardsticks.count
      add(timing.first, to: isYardstick ? "yardsticks" : "first call")
      add(timing.warmUp.reduce(0, +), to: isYardstick ? "yardsticks" : "warm-up")
      add(timing.steady.reduce(0, +), to: isYardstick ? "yardsticks" : "steady")
    }
    releasing {
      works = []
      programs = [:]
    }
    for (index, row) in rows.enumerated() {
      report.rows.append(finished(row, timings[yardsticks.count + index], timings))
    }
  }

  /// Gives memory back, which takes its time where there is much of it.
  private mutating func releasing(_ body: () -> Void) {
    let begin = benchmark.clock()
    body()
    add(benchmark.clock() - begin, to: "release")
  }

  /// A stage's program with memory of its own; nil where its unit does not run it.
  private mutating func program(
    _ stage: ProgramStage,
    _ store: ProgramStore,
    _ known: TimedProgram?,
    _ entry: Entry,
    _ row: inout BenchReport.Row
  ) throws -> TimedProgram? {
    let begin = benchmark.clock()
    defer {
      let made = (row.buildNanoseconds ?? 0) + (row.compileNanoseconds ?? 0)
      add(benchmark.clock() - begin - made, to: "bind")
    }
    let program: TimedProgram
    do {
      program =
        try known?.standing(at: stage.position, in: store.model)
        ?? TimedProgram(stage.key, in: store, position: stage.position, clock: benchmark.clock)
    } catch DeviceError.declined(_, _, let reason) {
      refuse(entry, reason)
      return nil
    }
    if known == nil {
      row.buildNanoseconds = program.buildNanoseconds
      row.compileNanoseconds = program.compileNanoseconds
      row.firstNanoseconds = 0
      add(program.buildNanoseconds, to: "build")
      add(program.compileNanoseconds, to: "compile")
    }
    for segment in program.program.segments {
      let count = segment.graph.nodes.count { segment.graph.isOperation($0) }
      if segment.unit == entry.unit { row.operations += count } else { row.elsewhere += count }
    }
    guard row.operations > 0 else {
      refuse(entry, program.fallbacks.first?.reason ?? "none of its operations is placed there")
      return nil
    }
    row.work = StageWork(program.program.graph, position: stage.position)
    return program
  }

  private mutating func refuse(_ entry: Entry, _ reason: String) {
    report.refusals.append(.init(stage: entry.name, unit: entry.unit, reason: reason))
  }

  /// A row with its samples, each beside what the yardstick of its kind took in its round.
  private func finished(
    _ row: BenchReport.Row,
    _ timing: Timing,
    _ timings: [Timing]
  ) -> BenchReport.Row {
    var row = row
    if row.firstNanoseconds != nil || row.unit == BenchReport.host {
      row.firstNanoseconds = timing.first
    }
    row.samples = PairedSamples(
      timing.steady,
      yardsticks: kinds(of: row).map { kind in
        let yardstick = timings[Yardstick.Kind.allCases.firstIndex(of: kind) ?? 0]
        return timing.rounds.map { max(yardstick.steady[$0], 1) }
      },
      disturbed: timing.disturbed
    )
    row.busyNanoseconds = Int(SampleSummary(timing.busy.map(Double.init)).median)
    return row
  }

  /// Removes the files that were written.
  func removeFiles() { try? FileManager.default.removeItem(at: scratch) }

  /// Operations for a byte of weights above which processors compute longer than they read: the same for
  /// all processes and runs, so that their yardsticks are the same.
  private static let ridge = 10

  /// The yardsticks of a stage, first the one that is like it, by what bounds it.
  private func kinds(of row: BenchReport.Row) -> [Yardstick.Kind] {
    if row.unit == BenchReport.host { return [.thread] }
    if row.unit == .gpu { return [.compute] }
    let reads = row.work.weightByteCount > row.work.flops / Self.ridge
    return reads ? [.read, .compute, .loops] : [.compute, .loops]
  }

  /// The report, its time accounted for.
  func finish() -> BenchReport {
    var report = report
    report.wallNanoseconds =
      benchmark.clock() - start + benchmark.folder.openNanoseconds
    return report
  }
}
