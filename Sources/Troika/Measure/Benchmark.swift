import Devices
public import Foundation
public import Graph
import Models

/// Times every stage of a request on every unit that can run it.
public struct Benchmark: Sendable {
  /// What is timed and how often.
  public struct Options: Sendable {
    /// Units that are given every stage.
    public var units: [UnitID] = []
    /// A placement whose stages are timed where it puts them; nil for none.
    public var placement: Placement?
    /// Globs over names of stages, or their beginnings; empty for all.
    public var stages: [String] = []
    /// Files that are read beside those of the suite.
    public var files: [MediaSource] = []
    /// Samples of each stage.
    public var repeats = 30
    /// Calls after the first that are no samples.
    public var warmUps = 2
    /// Seconds that the samples of one stage may take, but for the fewest.
    public var secondsPerStage = 30.0
    /// Samples of a stage, however long they take.
    public var fewest = 3
    /// The folder for files that are read in turn; made by the run and removed behind it.
    public var scratch = FileManager.default.temporaryDirectory
      .appendingPathComponent("troika-bench-\(UUID().uuidString)")

    /// The usual options; no unit is named.
    public init() {}
  }

  let folder: ModelFolder
  let suite: BenchSuite
  let options: Options
  let load: Troika.LoadOptions
  let registry: Registry
  let threads: Int
  let clock: @Sendable () -> Int
  /// Processor time that other processes have taken so far.
  var others: @Sendable () -> Int = { OtherWork.nanoseconds }
  /// How large the products are that show what units reach at most.
  var probe = LimitProbe.Size()
  /// How much fixed work there is in a round.
  var yardstick = Yardstick.Size()

  /// A benchmark of a model.
  ///
  /// - Parameters:
  ///   - folder: the model.
  ///   - suite: the shapes.
  ///   - options: what is timed.
  ///   - load: cuts, context, batches and switches; its placement is not used.
  public init(
    _ folder: ModelFolder,
    _ suite: BenchSuite,
    _ options: Options,
    load: Troika.LoadOptions
  ) {
    let threads = load.threads ?? ProcessInfo.processInfo.activeProcessorCount
    self.init(
      folder,
      suite,
      options,
      load: load,
      registry: Registry(threads: threads, engine: load.engine, gpu: load.gpu),
      clock: { MonotonicClock.nanoseconds }
    )
  }

  init(
    _ folder: ModelFolder,
    _ suite: BenchSuite,
    _ options: Options,
    load: Troika.LoadOptions,
    registry: Registry,
    clock: @escaping @Sendable () -> Int
  ) {
    self.folder = folder
    self.suite = suite
    self.options = options
    self.load = load
    self.registry = registry
    self.clock = clock
    threads = load.threads ?? ProcessInfo.processInfo.activeProcessorCount
  }

  /// Runs it on a thread of its own.
  ///
  /// - Parameter progress: called before each call of each stage.
  /// - Returns: what came out.
  /// - Throws: where a unit is not available, a pattern fits no stage, or a launch fails.
  public func run(
    progress: @escaping @Sendable (RequestProgress) -> Void = { _ in }
  ) async throws -> BenchReport {
    try await blocking { try measure(progress) }
  }

  func measure(_ progress: (RequestProgress) -> Void = { _ in }) throws -> BenchReport {
    var run = BenchRun(self)
    defer { run.removeFiles() }
    try run.prepare()
    try run.measureStages(progress)
    return run.finish()
  }

  /// What the decoder is cut into and how large its programs are.
  func stages() throws -> BenchStages {
    let layout = load.layout ?? folder.layout
    let context = load.context ?? folder.context
    let wanted = load.prefillShapes ?? suite.prefill.filter { $0 <= context }
    let prefill = Set(wanted.isEmpty ? [context] : wanted).filter { $0 > 1 }.sorted()
    try Troika.check(
      layout: layout,
      context: context,
      prefill: prefill,
      folder.model.configuration.text
    )
    return BenchStages(
      model: folder.model,
      processor: folder.processor,
      suite: suite,
      layout: layout,
      context: context,
      prefill: prefill.filter { $0 <= context },
      sharedLayers: load.sharedLayers
    )
  }

  /// Where stages are placed: each unit for all, then the placement.
  func stores(_ stages: BenchStages) throws -> [ProgramStore] {
    for unit in options.units { _ = try registry.unit(unit) }
    var placements = options.units.map { Placement(base: $0) }
    if let placement = options.placement {
      let check = try PlacementCheck(
        placement,
        model: folder.model,
        weights: folder.weights,
        layout: stages.layout,
        registry: registry,
        allowsFallback: load.allowsFallback
      )
      placements.append(check.placement)
    }
    return placements.map { placement in
      // The head is timed as a program of its own.
      let apart = Part.Phase.allCases.reduce(placement) { $0.refusing(.head($1), by: .null) }
      return ProgramStore(
        model: folder.model,
        weights: folder.weights,
        registry: registry,
        placement: apart
      )
    }
  }

  /// Whether a stage is asked for.
  func isWanted(_ stage: String) -> Bool {
    options.stages.isEmpty
      || options.stages.contains { Glob.matches($0, stage) || stage.hasPrefix($0) }
  }
}
