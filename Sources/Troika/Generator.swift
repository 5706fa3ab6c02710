import Devices
import Graph
import Media
import Models

/// Answers one request over one session: loads media, carries out the prompt's tasks, decodes.
struct Generator {
  let folder: ModelFolder
  let encoders: Encoders
  let context: Int
  /// Whether units run at the same time.
  let overlaps: Bool
  let callbacks: GenerationCallbacks

  func run(
    _ request: Request,
    in session: DecoderSession,
    history: inout [PromptKey],
    loaded: inout [Medium: LoadedMedium]
  ) throws -> Response {
    let start = MonotonicClock.nanoseconds
    var response = Response()
    try check(request)
    var sampler = try Sampler(request.options.sampling)
    var log = EventLog()
    let (prompt, media) = try prepare(request, &loaded, &response, &log)
    response.timings.decodeMediaNanoseconds = MonotonicClock.nanoseconds - start
    let keys = PromptKey.keys(
      of: prompt,
      digests: media.mapValues(\.digest),
      request.options.mediaPerLayer
    )
    let reused = reuse(keys, in: session, history: &history)
    response.cachedTokens = reused
    response.shape = RequestShape(
      prompt,
      media,
      from: reused,
      processor: folder.processor,
      maxTokens: request.options.maxTokens
    )
    let rows = PromptRows(
      prompt,
      padToken: folder.model.configuration.text.padToken,
      mediaPerLayer: request.options.mediaPerLayer
    )
    let run = PromptRun(rows, from: reused, media, encoders, folder.processor, in: session)
    let logits = try carryOut(run, session, keys, &history, &response, &log)
    response.promptTaskCount = log.next
    if let logits {
      try decode(request.options, logits, session, &sampler, &history, start, &response, &log)
    } else {
      response.finishReason = .cancelled
    }
    response.timeline = log.timeline
    response.timings.totalNanoseconds = MonotonicClock.nanoseconds - start
    return response
  }

  private func check(_ request: Request) throws(TroikaError) {
    guard request.options.maxTokens > 0 else {
      throw .option(
        name: "max-tokens",
        expected: "at least 1",
        got: "\(request.options.maxTokens)"
      )
    }
    let said = request.messages.last?.content ?? []
    let hasContent = said.contains { part in
      if case .text(let text) = part { return text.contains { !$0.isWhitespace } }
      return true
    }
    guard hasContent else { throw .emptyPrompt }
  }

  /// Decodes media as far as their token counts and makes the ids.
  ///
  /// - Throws: also where the prompt does not fit, before anything is encoded.
  private func prepare(
    _ request: Request,
    _ known: inout [Medium: LoadedMedium],
    _ response: inout Response,
    _ log: inout EventLog
  ) throws -> (EncodedPrompt, [Medium: LoadedMedium]) {
    let loader = MediaLoader(processor: folder.processor)
    var media: [Medium: LoadedMedium] = [:]
    let order = request.media.sorted {
      ($0.key.kind.rawValue, $0.key.index) < ($1.key.kind.rawValue, $1.key.index)
    }
    for (medium, source) in order {
      let loaded: LoadedMedium
      if let earlier = known[medium] {
        loaded = earlier
      } else {
        let start = MonotonicClock.nanoseconds
        loaded = try loader.load(source)
        let event = Timeline.Event.host("host.media", since: start)
        log.append([event], after: log.last)
        known[medium] = loaded
        response.warnings += loaded.warnings
      }
      media[medium] = loaded
      response.mediaMemory.add(loaded)
    }
    let start = MonotonicClock.nanoseconds
    var template = folder.template
    template.mediaStyle = request.options.mediaStyle ?? template.mediaStyle
    template.thinking = request.options.thinking
    template.isRaw = request.options.isRaw
    let prompt = try folder.encoder.encode(
      try template.pieces(request.messages),
      extents: media.mapValues(\.extent)
    )
    log.append([.host("host.prompt", since: start)], after: log.last)
    response.promptTokens = prompt.ids.count
    response.softTokens = prompt.softTokenCount
    guard prompt.ids.count < context else {
      throw TroikaError.promptTooLong(
        tokens: prompt.ids.count,
        context: context,
        detail: Self.budget(media)
      )
    }
    return (prompt, media)
  }

  private static func budget(_ media: [Medium: LoadedMedium]) -> String {
    let order = media.sorted {
      ($0.key.kind.rawValue, $0.key.index) < ($1.key.kind.rawValue, $1.key.index)
    }
    let parts = order.map { medium, loaded in
      switch loaded.extent {
      case .tokens(let count): "\(medium.kind) \(count)"
      case .blocks(let counts): "\(medium.kind) \(counts.reduce(0, +))"
      case .frames(let frames):
        "video \(frames.count) frame\(frames.count == 1 ? "" : "s") of "
          + "\(frames.first?.tokenCount ?? 0) tokens"
      }
    }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }

  /// How many leading tokens the session already holds, at least one left to run.
  private func reuse(
    _ keys: [PromptKey],
    in session: DecoderSession,
    history: inout [PromptKey]
  ) -> Int {
    let common = zip(keys, history).prefix { $0 == $1 }.count
    let wanted = min(common, keys.count - 1)
    let kept = session.rewind(to: wanted) ? wanted : 0
    if kept == 0 { _ = session.rewind(to: 0) }
    history.removeSubrange(kept...)
    return kept
  }

  /// Carries out the tasks of a prompt.
  ///
  /// - Returns: the last position's logits; nil where the caller cancelled.
  private func carryOut(
    _ run: PromptRun,
    _ session: DecoderSession,
    _ keys: [PromptKey],
    _ history: inout [PromptKey],
    _ response: inout Response,
    _ log: inout EventLog
  ) throws -> Value? {
    let progress = PromptProgress(run, callbacks)
    let outcome = try Executor(run.graph, run.work) { progress.goesOn(to: $0) }
      .run(serially: !overlaps)
    for (stage, nanoseconds) in zip(run.stages, outcome.nanoseconds) {
      switch stage {
      case .encode: response.timings.encodeNanoseconds += nanoseconds
      case .prefill: response.timings.prefillNanoseconds += nanoseconds
      }
    }
    response.warnings += outcome.reports.flatMap { $0?.warnings ?? [] }
    log.append(run.graph, outcome.reports, after: log.last)
    for (step, last) in run.steps {
      guard outcome.reports[last] != nil else { return nil }
      session.advance(past: step)
      history += keys[step.positions]
    }
    return run.steps.last?.step.result.logits
  }

  private func decode(
    _ options: GenerationOptions,
    _ first: Value,
    _ session: DecoderSession,
    _ sampler: inout Sampler,
    _ history: inout [PromptKey],
    _ start: Int,
    _ response: inout Response,
    _ log: inout EventLog
  ) throws {
    var logits = first
    var text = StreamDecoder(folder.encoder.tokenizer)
    let stops = options.ignoresStopTokens ? [] : Set(folder.generation.stopIDs)
    var begin = MonotonicClock.nanoseconds
    while true {
      let next = try choose(logits, &sampler, step: response.tokens.count)
      if response.tokens.isEmpty {
        begin = MonotonicClock.nanoseconds
        response.timings.firstTokenNanoseconds = begin - start
      }
      if stops.contains(next) { break }
      response.tokens.append(next)
      let piece = try text.push(next)
      response.text += piece
      if !piece.isEmpty { callbacks.text(piece) }
      if let reason = limit(options, session, response) {
        response.finishReason = reason
        break
      }
      let row = DecoderSession.Rows(
        ids: [Int32(next)],
        perLayerIds: [Int32(next)],
        features: [],
        blocks: [0]
      )
      let result = try session.step(row, wanted: .last, phase: .decode)
      log.append(result.events, after: log.last)
      response.warnings += result.warnings
      history.append(.token(next))
      guard let made = result.logits else { break }
      logits = made
    }
    let rest = text.flush()
    response.text += rest
    if !rest.isEmpty { callbacks.text(rest) }
    response.timings.decodeNanoseconds = MonotonicClock.nanoseconds - begin
  }

  private func limit(
    _ options: GenerationOptions,
    _ session: DecoderSession,
    _ response: Response
  ) -> FinishReason? {
    if callbacks.isCancelled() { return .cancelled }
    if response.tokens.count >= options.maxTokens { return .length }
    if session.position + 1 > context { return .context }
    return nil
  }

  private func choose(_ logits: Value, _ sampler: inout Sampler, step: Int) throws -> Int {
    let count = logits.type.shape.last
    let base = UnsafePointer(logits.pointer.assumingMemoryBound(to: Float.self))
    do {
      return try sampler.next(UnsafeBufferPointer(start: base, count: count))
    } catch SamplingError.unusableLogits {
      throw TroikaError.notANumber(step: step)
    }
  }
}
