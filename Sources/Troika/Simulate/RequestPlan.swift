import Graph
import Models

/// What one task of a request is, as far as its time depends on it.
enum TaskWork: Hashable, Sendable {
  /// Times of the host's figures, each so many.
  case host([HostFigure: Double])
  /// A part of a program on one unit.
  /// Behind a switch from another unit that one is named.
  case run(PlannedWork.Run, LaunchFill, Tower?, leaving: UnitID?)
}

/// The tasks of one request up to its first token, and of each token behind it.
///
/// Media of a batch are decoded and encoded before it; everything else about the order follows from what
/// waits for what. The numbers of tasks follow the prompt, so that what is needed first goes first.
struct RequestPlan {
  /// The tasks.
  private(set) var graph = TaskGraph()
  /// What each is.
  private(set) var works: [TaskWork] = []
  /// Which launch of a program each belongs to.
  private(set) var launches: [Int] = []
  private var launchCount = 0
  /// Tokens of the batches, real and compiled.
  private(set) var batches: [(real: Int, shape: Int)] = []

  /// The last task that made the next value of each cache, and those that read it since.
  private var writers: [String: Int] = [:]
  private var readers: [String: [Int]] = [:]
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
  }

  /// Tasks of one decode step.
  ///
  /// - Parameter position: positions in the caches before it.
  /// - Throws: where a program cannot be traced.
  init(step position: Int, _ programs: RequestPrograms) throws {
    self.programs = programs
    var host: [HostFigure: Double] = [
      .stepNanoseconds: 1, .stepPositionNanoseconds: Double(programs.context),
    ]
    if programs.waitsForStateReturn { host[.stateReturnNanoseconds] = 1 }
    var last = add("host.step", .cpu, .host(host), after: [])
    let fill = LaunchFill(rows: 1, position: position)
    last = try add(.embed(tokens: 1), fill, after: [last])
    for key in programs.decoder.keys(tokens: 1, .decode) {
      last = try add(key, fill, after: [last])
    }
  }

  private var lastTask: Int { graph.tasks.count - 1 }

  private mutating func encode(_ piece: RequestShape.Piece) throws -> Int {
    switch piece {
    case .text: return lastTask
    case .image(let patches, _), .frame(let patches, _):
      let shape = programs.visionShape(patches: patches)
      let isFrame = if case .frame = piece { true } else { false }
      let prepared = add(
        isFrame ? "host.frame" : "host.image",
        .cpu,
        .host([isFrame ? .frameNanoseconds : .imageNanoseconds: 1]),
        after: []
      )
      let fill = LaunchFill(rows: Double(patches) / Double(shape))
      return try add(.vision(patches: shape, taps: []), fill, after: [prepared])
    case .sound(let frames, _):
      let shape = programs.audioShape(frames: frames)
      let prepared = add(
        "host.sound",
        .cpu,
        .host([.soundSecondNanoseconds: Double(frames) / 100]),
        after: []
      )
      let fill = LaunchFill(rows: Double(frames) / Double(shape))
      return try add(.audio(frames: shape, taps: []), fill, after: [prepared])
    }
  }

  private mutating func prefill(
    _ batch: (real: Int, shape: Int),
    at position: Int,
    isLast: Bool,
    after media: [Int]
  ) throws {
    let host = add(
      "host.batch",
      .cpu,
      .host([.batchNanoseconds: 1, .batchTokenNanoseconds: Double(batch.real)]),
      after: []
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
      _ = try add(.head(rows: 1, .prefill, taps: []), LaunchFill(position: position), after: [last])
    }
  }

  /// Adds the parts of a program one after the other, behind what else touches its caches.
  private mutating func add(
    _ key: ProgramStore.Key,
    _ fill: LaunchFill,
    after: [Int]
  ) throws -> Int {
    let work = try programs.work(key)
    launchCount += 1
    var waiting = after
    for state in work.readStates { waiting += writers[state].map { [$0] } ?? [] }
    for state in work.writtenStates { waiting += readers[state] ?? [] }
    var previous: UnitID?
    for run in work.runs where !programs.isFree(run) {
      let leaves = !run.isMovement && previous.map { $0 != run.unit } ?? false
      waiting = [
        add(
          work.name,
          run.unit,
          .run(run, fill, key.tower, leaving: leaves ? previous : nil),
          after: waiting
        )
      ]
      if !run.isMovement { previous = run.unit }
    }
    let last = waiting.max() ?? -1
    for state in work.readStates { readers[state, default: []].append(last) }
    for state in work.writtenStates {
      writers[state] = last
      readers[state] = []
    }
    return last
  }

  private mutating func add(
    _ program: String,
    _ unit: UnitID,
    _ work: TaskWork,
    after: [Int]
  ) -> Int {
    if case .host = work { launchCount += 1 }
    works.append(work)
    launches.append(launchCount)
    let kind = if case .host = work { Timeline.Kind.host } else { Timeline.Kind.launch }
    return graph.add(program, on: unit, kind: kind, after: after)
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
