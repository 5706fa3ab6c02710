import Devices
import Graph
import Media
import Models

/// The work of one prompt as tasks: media are prepared and encoded, batches are embedded and go through
/// the decoder.
///
/// As in a simulated request the numbers of tasks follow the prompt, so that of two that could start on
/// a unit the one that is needed first goes first.
final class PromptRun: @unchecked Sendable {
  /// What a task is part of.
  enum Stage {
    case encode
    case prefill
  }

  /// The tasks.
  private(set) var graph = TaskGraph()
  /// How each is carried out.
  private(set) var work: [Executor.Work] = []
  /// What each is part of.
  private(set) var stages: [Stage] = []
  /// The steps of the batches, each with the number of its last task.
  private(set) var steps: [(step: DecoderStep, last: Int)] = []
  /// The number of each step's first chunk.
  private(set) var firstChunks: [Int] = []
  /// Encodings, by span of the prompt.
  private var encodings: [SpanEncoding?]
  private var encodeTasks: [Int?]
  /// Encode tasks of each unit, and the last preparation of each medium.
  private var encodes: [UnitID: [Int]] = [:]
  private var prepared: [Medium: Int] = [:]
  private var caches = StateHazards()
  private let rows: PromptRows
  private let session: DecoderSession

  /// Encodings prepared or running at a time on one unit.
  static let encodesAtOnce = 2
  /// Batches embedded or running at a time.
  static let batchesAtOnce = 2

  /// The tasks of a prompt from a position on.
  init(
    _ rows: PromptRows,
    from start: Int,
    _ media: [Medium: LoadedMedium],
    _ encoders: Encoders,
    _ processor: ProcessorSettings,
    in session: DecoderSession
  ) {
    self.rows = rows
    self.session = session
    let spans = rows.prompt.spans
    let batches = session.batches(of: rows, from: start, cuts: session.cuts(before: spans))
    var passes: [Medium: FramePass] = [:]
    encodings = spans.map { span in
      let readers = batches.count { span.range.overlaps($0) }
      guard readers > 0, let source = media[span.medium]?.source(of: span, &passes) else {
        return nil
      }
      return SpanEncoding(source, encoders, processor, readers: readers)
    }
    encodeTasks = spans.map { _ in nil }
    for (index, batch) in batches.enumerated() {
      let needed = rows.spans(in: batch).compactMap { encode($0) }
      prefill(batch, isLast: index == batches.count - 1, after: needed)
    }
  }

  /// Spans that are encoded.
  var encodingCount: Int { encodings.count { $0 != nil } }

  /// Adds the tasks that encode a span, once.
  private func encode(_ span: Int) -> Int? {
    if let task = encodeTasks[span] { return task }
    guard let encoding = encodings[span] else { return nil }
    let medium = rows.prompt.spans[span].medium
    let unit = session.programs.placement.unit(of: encoding.part)
    // Frames of a clip are decoded in their order; what is prepared waits for few encodings.
    var after = prepared[medium].map { [$0] } ?? []
    if let earlier = encodes[unit], earlier.count >= Self.encodesAtOnce {
      after.append(earlier[earlier.count - Self.encodesAtOnce])
    }
    let ready = add(encoding.hostName, .host, .encode, after: after) { try encoding.prepare() }
    let task = add("\(encoding.part)", unit, .encode, after: [ready]) { try encoding.encode() }
    prepared[medium] = ready
    encodes[unit, default: []].append(task)
    encodeTasks[span] = task
    return task
  }

  private func prefill(_ batch: Range<Int>, isLast: Bool, after media: [Int]) {
    let step = DecoderStep(
      rows.rows(batch),
      at: batch.lowerBound,
      wanted: isLast ? .last : .none,
      phase: .prefill,
      in: session
    )
    var last: [Int] = []
    if steps.count >= Self.batchesAtOnce {
      last = [steps[steps.count - Self.batchesAtOnce].last]
    }
    for index in step.programs.indices {
      let states = step.states(index)
      let task = add(
        "\(step.part(index))",
        session.programs.placement.unit(of: step.part(index)),
        .prefill,
        after: last + caches.tasks(reading: states, writing: states)
      ) { try step.run(index) }
      caches.note(task, reading: states, writing: states)
      if index == 1 { firstChunks.append(task) }
      last = [task]
      if index == 0, !media.isEmpty { last = [place(batch, step, after: last + media)] }
    }
    steps.append((step, last.first ?? 0))
  }

  /// Adds the task that puts features in their places among a batch's embeddings.
  private func place(_ batch: Range<Int>, _ step: DecoderStep, after: [Int]) -> Int {
    let read = rows.spans(in: batch).map { ($0, encodings[$0]) }
    let count = encodings.count
    let rows = rows
    return add("host.features", .host, .prefill, after: after) {
      let start = MonotonicClock.nanoseconds
      var features = [Value?](repeating: nil, count: count)
      for (span, encoding) in read { features[span] = encoding?.features }
      step.place(rows.placed(features, in: batch))
      for (_, encoding) in read { encoding?.release() }
      return TaskReport(events: [.host("host.features", since: start)])
    }
  }

  private func add(
    _ program: String,
    _ unit: UnitID,
    _ stage: Stage,
    after: [Int],
    _ body: @escaping Executor.Work
  ) -> Int {
    work.append(body)
    stages.append(stage)
    return graph.add(program, on: unit, kind: unit == .host ? .host : .launch, after: after)
  }
}

extension DecoderSession {
  /// Where batches should begin so that what stands before a medium need not wait for it: at media whose
  /// tower runs on another unit than the first chunk.
  func cuts(before spans: [EncodedPrompt.Span]) -> [Int] {
    let first = programs.placement.unit(of: .chunk(1, .prefill))
    return spans.filter { span in
      let tower: Part = span.medium.kind == .audio ? .audio : .vision
      return programs.placement.unit(of: tower) != first
    }.map(\.range.lowerBound)
  }
}

extension LoadedMedium {
  /// What a span of the medium is made of; frames of one clip share a pass.
  func source(
    of span: EncodedPrompt.Span,
    _ passes: inout [Medium: FramePass]
  ) -> SpanEncoding.Source? {
    switch part {
    case .image(let image): return .image(image)
    case .audio(let blocks):
      return blocks.indices.contains(span.frame) ? .sound(blocks[span.frame]) : nil
    case .frames(let reader, let choices):
      guard choices.indices.contains(span.frame) else { return nil }
      let pass = passes[span.medium] ?? reader.pass()
      passes[span.medium] = pass
      return .frame(pass, choices[span.frame])
    }
  }
}
