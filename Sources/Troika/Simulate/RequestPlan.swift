import Graph
import Models

/// The tasks of one request up to its first token, and of each token behind it.
///
/// Media of a batch are decoded and encoded before it; everything else about the order follows from what
/// waits for what. The numbers of tasks follow the prompt, so that what is needed first goes first.
struct RequestPlan {
  /// The tasks.
  private(set) var graph = TaskGraph()
  /// What each takes, with its range.
  private(set) var costs: [LaunchCost] = []
  /// What each takes, for the simulator.
  private(set) var tasks: [TaskCost] = []
  /// Which launch of a program each belongs to.
  private(set) var launches: [Int] = []
  private var launchCount = 0
  /// Tokens of the batches, real and compiled.
  private(set) var batches: [(real: Int, shape: Int)] = []

  private var caches = StateHazards()
  /// Encode tasks of each unit, the last frame's preparation, and the last task of each batch.
  private var encodes: [UnitID: [Int]] = [:]
  private var lastFrame: Int?
  private var batchEnds: [Int] = []
  /// Programs that units keep loaded, of units on which these cost each other.
  private var loaded: [UnitID: Set<ProgramStore.Key>] = [:]
  private let programs: RequestPrograms

  /// Tasks of a request.
  ///
  /// - Parameters:
  ///   - request: the prompt's lengths.
  ///   - programs: which programs there are.
  ///   - cutsAtMedia: whether a batch ends before each medium, so that what stands before it need not
  ///     wait for its encoding.
  /// - Throws: where a program cannot be traced.
  init(_ request: RequestShape, _ programs: RequestPrograms, cutsAtMedia: Bool) throws {
    self.programs = programs
    var encoded: [Int: Int] = [:]
    let ends = try programs.batches(request, cutsAtMedia: cutsAtMedia)
    var position = 0
    for (index, batch) in ends.enumerated() {
      let end = position + batch.real
      var needed: [Int] = []
      for (piece, range) in request.mediaRanges where range.overlaps(position..<end) {
        let task = try encoded[piece] ?? encode(request.pieces[piece])
        encoded[piece] = task
        needed.append(task)
      }
      batches.append(batch)
      try prefill(batch, at: position, isLast: index == ends.count - 1, after: needed)
      position = end
    }
    addPressure()
  }

  /// Tasks of one decode step.
  ///
  /// - Parameters:
  ///   - position: positions in the caches before it.
  ///   - programs: which programs there are.
  /// - Throws: where a program cannot be traced.
  init(step position: Int, _ programs: RequestPrograms) throws {
    self.programs = programs
    var host: [(HostFigure, Double)] = [
      (.stepNanoseconds, 1), (.stepPositionNanoseconds, Double(programs.context)),
    ]
    if programs.waitsForStateReturn { host.append((.stateReturnNanoseconds, 1)) }
    var last = add("host.step", host, after: [])
    let fill = LaunchFill(rows: 1, position: position)
    last = try add(.embed(tokens: 1), fill, after: [last])
    for key in programs.decoder.keys(tokens: 1, .decode) {
      last = try add(key, fill, after: [last])
    }
    addPressure()
  }

  private var lastTask: Int { graph.tasks.count - 1 }

  private mutating func encode(_ piece: RequestShape.Piece) throws -> Int {
    // What is prepared waits for few encodings, as it does on real units.
    let unit = programs.placement.unit(of: piece.part)
    var after: [Int] = []
    if let earlier = encodes[unit], earlier.count >= PromptRun.encodesAtOnce {
      after.append(earlier[earlier.count - PromptRun.encodesAtOnce])
    }
    let prepared: Int
    switch piece {
    case .text: return lastTask
    case .image: prepared = add("host.image", [(.imageNanoseconds, 1)], after: after)
    case .frame:
      after += lastFrame.map { [$0] } ?? []
      prepared = add("host.frame", [(.frameNanoseconds, 1)], after: after)
      lastFrame = prepared
    case .sound(let frames, _):
      let seconds = Double(frames) / 100
      prepared = add("host.sound", [(.soundSecondNanoseconds, seconds)], after: after)
    }
    guard let (key, fill) = programs.encoding(piece) else { return prepared }
    let task = try add(key, fill, after: [prepared])
    encodes[unit, default: []].append(task)
    return task
  }

  private mutating func prefill(
    _ batch: (real: Int, shape: Int),
    at position: Int,
    isLast: Bool,
    after media: [Int]
  ) throws {
    let earlier = batchEnds.dropLast(PromptRun.batchesAtOnce - 1).last
    let host = add(
      "host.batch",
      [(.batchNanoseconds, 1), (.batchTokenNanoseconds, Double(batch.real))],
      after: earlier.map { [$0] } ?? []
    )
    let whole = LaunchFill(
      rows: Double(batch.real) / Double(batch.shape),
      position: position
    )
    var last = try add(.embed(tokens: batch.shape), whole, after: [host])
    let launches = programs.decoder.launches(
      tokens: batch.shape,
      wanted: isLast ? .last : .none,
      .prefill
    )
    for (index, launch) in launches.enumerated() {
      let fill =
        launch.shape.tokens == batch.shape ? whole : LaunchFill(rows: 1, position: position)
      last = try add(
        .chunk(launch.chunk, launch.shape, .prefill, taps: []),
        fill,
        after: index == 0 ? [last] + media : [last]
      )
    }
    if isLast, !programs.decoder.joinsHead(.prefill) {
      let fill = LaunchFill(position: position)
      last = try add(.head(rows: 1, .prefill, taps: []), fill, after: [last])
    }
    batchEnds.append(last)
  }

  /// Adds the parts of a program one after the other, behind what else touches its caches.
  private mutating func add(
    _ key: ProgramStore.Key,
    _ fill: LaunchFill,
    after: [Int]
  ) throws -> Int {
    let program = try programs.price(key, fill)
    launchCount += 1
    let (read, written) = (program.work.readStates, program.work.writtenStates)
    var waiting = after + caches.tasks(reading: read, writing: written)
    for run in program.runs {
      waiting = [add(program.work.name, run, .launch, after: waiting)]
      guard pressure(on: run.unit) != nil else { continue }
      loaded[run.unit, default: []].insert(key)
    }
    let last = waiting.max() ?? -1
    caches.note(last, reading: read, writing: written)
    return last
  }

  /// What each further program that a unit keeps loaded costs its launches.
  private func pressure(on unit: UnitID) -> Figure? {
    programs.profile.units[unit]?.figures[.residentProgramNanoseconds]
  }

  /// Makes launches longer by what the programs cost each other that their units keep loaded.
  private mutating func addPressure() {
    for (unit, keys) in loaded {
      guard keys.count > 1, let figure = pressure(on: unit) else { continue }
      let more = figure.scaled(Double(keys.count - 1))
      for index in tasks.indices where graph.tasks[index].unit == unit {
        costs[index].nanoseconds += more.value
        costs[index].low += more.low
        costs[index].high += more.high
        tasks[index].nanoseconds = Int(clamping: costs[index].nanoseconds.rounded())
      }
    }
  }

  /// Adds work of the host.
  private mutating func add(
    _ name: String,
    _ times: [(HostFigure, Double)],
    after: [Int]
  ) -> Int {
    launchCount += 1
    return add(name, programs.prices.host(times), .host, after: after)
  }

  private mutating func add(
    _ program: String,
    _ run: PriceBook.Run,
    _ kind: Timeline.Kind,
    after: [Int]
  ) -> Int {
    costs.append(run.cost)
    tasks.append(run.task)
    launches.append(launchCount)
    return graph.add(program, on: run.unit, kind: kind, after: after)
  }
}

extension RequestShape {
  /// Positions of each medium, by the index of its piece.
  var mediaRanges: [(piece: Int, range: Range<Int>)] {
    var position = 0
    var ranges: [(Int, Range<Int>)] = []
    for (index, piece) in pieces.enumerated() {
      if case .text = piece {} else { ranges.append((index, position..<position + piece.tokens)) }
      position += piece.tokens
    }
    return ranges
  }
}
