import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika bench`: how long every stage takes on every unit.
enum BenchCommand: Command {
  static let name = "bench"
  static let summary = "time every stage on every unit, compare with an earlier run"
  static let help = """
    usage: troika bench --model DIR [OPTIONS]

    Times reading and preparing media, the towers, gathers, each chunk's prefill and decode, the head
    and sampling: build, compile and first call apart from the steady state, whose samples are taken
    in rounds, each stage once a round, beside fixed work that tells how fast the machine was. Weights
    and caches are counted as the graphs state them; shares are of what the unit reaches in the same
    run. Docs/Benchmarks.md says how the figures are made.

      --units U,…         units that are given every stage (cpu, neuralEngine and gpu where it is no
                          software, unless --placement says where stages run)
      --stages S,…        stages by their beginning or a glob: vision, chunk?.decode*, sample
      --repeat N          samples of a stage (30)
      --processes N       processes one after the other that share the samples (5): where memory
                          lies differs from one to the next, and comparisons have to know by how much
      --warm-up N         calls after the first that are no samples (2)
      --seconds S         what the samples of a stage may take (30)
      --fewest N          samples however long they take (3); one in each process at least
      --suite F           shapes of pictures, clips, sound, prompts (the standard suite)
      --image F, --video F, --audio F  also time reading these files; may be repeated
      --output O          table (default), md, csv, json or jsonl; --json is --output json
      --save F            also write the JSON document into a file
      --load F            show an earlier JSON document instead of timing; needs no model
      --baseline F        compare with an earlier JSON document; exit 1 where a stage is slower
      --threshold PCT     by more than this (5)
      --count-disturbed   comparisons also count samples that other processes disturbed
    \(PlacementOptions.help)
      --kernels NAME      avx512, avx2 or portable (the best this processor has)

    Example:
      troika bench --model e2b.troika --units cpu --stages chunk,head --save before.json
      troika bench --model e2b.troika --units cpu --stages chunk,head --baseline before.json
    """

  private enum Layout: String, CaseIterable { case table, md, csv, json, jsonl }

  static func start(_ words: [String]) async throws -> ExitCode {
    let files: Set = ["image", "video", "audio"]
    let arguments = try Arguments(
      words,
      valued: PlacementOptions.valued.union(files).union([
        "units", "stages", "repeat", "processes", "fewest", "warm-up", "seconds", "suite",
        "output", "save", "load", "baseline", "threshold", "kernels",
      ]),
      repeated: files,
      switches: PlacementOptions.switches.union(["json", "count-disturbed"])
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let layout = try layout(arguments)
    let threshold = try arguments.number("threshold", in: 0...10_000) ?? 5
    if let path = arguments["save"] { try FileOutput.check(path) }
    let baseline = try arguments["baseline"].map { try BenchReport(JSONNode(file: $0)) }
    let loaded = try loaded(arguments)
    let report: BenchReport
    do {
      if let loaded { report = loaded } else { report = try await run(arguments) }
    } catch let ended as BenchProcesses.Ended {
      return ended.code
    }
    let countsDisturbed = arguments.has("count-disturbed")
    let changes =
      baseline.map { report.changes(since: $0, countsDisturbed: countsDisturbed) } ?? []
    write(report, changes, threshold / 100, layout)
    // Behind what is printed, which a full disk then does not take along.
    if let path = arguments["save"] {
      try FileOutput.write(report.json.text(.indented) + "\n", to: path)
    }
    guard let baseline else { return .done }
    warn(report, baseline)
    warn(changes)
    return hold(changes, threshold)
  }

  /// An earlier document in place of timing, beside which nothing says what to time.
  private static func loaded(_ arguments: Arguments) throws -> BenchReport? {
    guard let path = arguments["load"] else { return nil }
    let shown: Set = ["load", "output", "save", "baseline", "threshold", "json", "count-disturbed"]
    let given = arguments.options.map(\.name) + arguments.switches.sorted()
    if let other = given.first(where: { !shown.contains($0) }) {
      throw UsageError("--load: expected no --\(other) beside it, which is about timing")
    }
    return try BenchReport(JSONNode(file: path))
  }

  /// Times what the command line asks for.
  private static func run(_ arguments: Arguments) async throws -> BenchReport {
    let placement = try PlacementOptions(arguments)
    var options = try options(arguments)
    let suite = try suite(arguments["suite"])
    try Options.kernels(arguments)
    let processes = try arguments.integer("processes", in: 1...1000) ?? 5
    if min(processes, options.repeats) > 1 {
      return try BenchProcesses(arguments, count: processes, options).run()
    }
    let (folder, load) = try placement.open()
    if arguments["placement"] != nil { options.placement = load.placement }
    if options.units.isEmpty, options.placement == nil { options.units = units(load) }
    ParentWatch.begin { [scratch = options.scratch] in leave(scratch) }
    do {
      let benchmark = Benchmark(folder, suite, options, load: load)
      return try await measured(benchmark, scratch: options.scratch)
    } catch {
      throw placement.file.located(error)
    }
  }

  /// Runs it; interrupted, its files are removed and the process ends.
  private static func measured(
    _ benchmark: Benchmark,
    scratch: URL
  ) async throws -> BenchReport {
    let interrupt = Interrupt(signals: [SIGINT, SIGTERM])
    interrupt.onSignal { leave(scratch) }
    do {
      defer { ProgressLine.clear() }
      return try await benchmark.run { ProgressLine.show($0) }
    } catch {
      // Files that are gone fail the run before the process has ended.
      if interrupt.isAsked { leave(scratch) }
      throw error
    }
  }

  /// Ends the process; its files are removed, those too that are made meanwhile.
  private static func leave(_ scratch: URL) -> Never {
    for _ in 0..<100 where FileManager.default.fileExists(atPath: scratch.path) {
      try? FileManager.default.removeItem(at: scratch)
    }
    ProgressLine.clear()
    exit(ExitCode.interrupted.rawValue)
  }

  // MARK: - Options

  private static func layout(_ arguments: Arguments) throws -> Layout {
    let layout = try arguments.choice("output", Layout.self)
    guard arguments.has("json") else { return layout ?? .table }
    guard layout == nil || layout == .json else {
      throw UsageError("--json: expected it or --output, got both")
    }
    return .json
  }

  private static func options(_ arguments: Arguments) throws -> Benchmark.Options {
    func list(_ name: String) -> [String] {
      arguments[name]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        ?? []
    }
    var options = Benchmark.Options()
    for name in list("units") {
      let unit = try UnitID(known: name)
      guard !options.units.contains(unit) else {
        throw UsageError("--units: expected each unit once, got '\(name)' again")
      }
      options.units.append(unit)
    }
    options.stages = list("stages")
    options.repeats = try arguments.integer("repeat", in: 1...10_000) ?? 30
    options.warmUps = try arguments.integer("warm-up", in: 0...1000) ?? 2
    options.secondsPerStage = try arguments.number("seconds", in: 0...86_400) ?? 30
    options.fewest = try arguments.integer("fewest", in: 1...10_000) ?? 3
    options.files = try RequestOptions(arguments: arguments).media()
    return options
  }

  private static func suite(_ path: String?) throws -> BenchSuite {
    if let path { return try BenchSuite(JSONNode(file: path)) }
    let name = "BenchSuite.json"
    let value = try PackageResources.BenchSuite_json.withUnsafeBytes {
      try JSONValue(parsing: $0, subject: name)
    }
    return try BenchSuite(JSONNode(value, subject: name))
  }

  /// The units of this machine that a model would run on.
  private static func units(_ load: Troika.LoadOptions) -> [UnitID] {
    let device = (try? GPUDevice.all())?.first { $0.obstacle == nil && $0.kind != .software }
    return [.cpu, .neuralEngine] + (device == nil && load.gpu.device == nil ? [] : [.gpu])
  }

  // MARK: - What comes out

  private static func write(
    _ report: BenchReport,
    _ changes: [StageChange],
    _ threshold: Double,
    _ layout: Layout
  ) {
    switch layout {
    case .table: BenchCommandText.lines(report, changes, threshold).forEach { Output.line($0) }
    case .md: BenchCommandText.markdown(report, changes, threshold).forEach { Output.line($0) }
    case .csv: BenchCommandData.csv(report, changes, threshold).forEach { Output.line($0) }
    case .json: Output.line(BenchCommandData.json(report, changes, threshold).text(.indented))
    case .jsonl: BenchCommandData.jsonl(report, changes, threshold).forEach { Output.line($0) }
    }
  }

  /// Says what else differs between two runs.
  private static func warn(_ report: BenchReport, _ baseline: BenchReport) {
    let (now, then) = (report.machine, baseline.machine)
    let facts = [
      ("processor", then.processor, now.processor), ("kernels", then.kernels, now.kernels),
      ("threads", "\(then.threads)", "\(now.threads)"),
      ("governor", then.governor, now.governor), ("compiler", then.compiler, now.compiler),
      ("shapes", baseline.shapes, report.shapes), ("suite", baseline.suite, report.suite),
    ]
    for (name, old, new) in facts where old != new {
      Output.warning("baseline: \(name): expected \(new), came \(old)")
    }
  }

  /// Says how many stages cannot be compared.
  private static func warn(_ changes: [StageChange]) {
    let unknown = changes.count { $0.comparison?.verdict(threshold: 0) == .unknown }
    guard unknown > 0 else { return }
    Output.warning(
      "\(unknown) of \(changes.count) stages: expected \(MedianInterval.fewest) samples, or "
        + "processes with some, that other work did not disturb, and the same machine, in both runs"
    )
  }

  private static func text(_ threshold: Double) -> String {
    Format.fixed(threshold, threshold == threshold.rounded() ? 0 : 1)
  }

  private static func hold(_ changes: [StageChange], _ threshold: Double) -> ExitCode {
    let slower = changes.filter { $0.comparison?.verdict(threshold: threshold / 100) == .slower }
    guard let first = slower.first, let comparison = first.comparison else { return .done }
    let more = slower.count > 1 ? ", and \(slower.count - 1) more" : ""
    Output.error(
      "\(first.stage) on \(first.unit): expected at most \(text(threshold)) % slower, "
        + "came \(Format.fixed((comparison.ratio - 1) * 100, 1)) %\(more)"
    )
    return .failed
  }
}
