import Devices
import Graph
import Models

/// Rows on their way through the decoder: programs that run one after the other.
///
/// One thread at a time, which sees what the one before wrote.
final class DecoderStep: @unchecked Sendable {
  /// One program of the step.
  enum Program {
    case embed
    case chunk(DecoderPrograms.Launch)
    case head
  }

  /// The programs in order.
  let programs: [Program]
  /// The positions of the rows.
  let positions: Range<Int>
  /// What the step has made so far.
  private(set) var result = DecoderSession.Result()
  private let session: DecoderSession
  private let wanted: TextDecoder.Rows
  private let phase: Part.Phase
  private let taps: Set<String>
  private var rows: DecoderSession.Rows
  /// Rows of the programs, padding included.
  private let tokens: Int
  private var values: [String: Value] = [:]

  private var count: Int { positions.count }

  /// A step of rows that stand from `position` on.
  init(
    _ rows: DecoderSession.Rows,
    at position: Int,
    wanted: TextDecoder.Rows,
    phase: Part.Phase,
    taps: Set<String> = [],
    in session: DecoderSession
  ) {
    self.session = session
    self.wanted = wanted
    self.phase = phase
    self.taps = taps
    positions = position..<position + rows.ids.count
    tokens = session.compiledTokens(rows.ids.count)
    self.rows = rows.padded(to: tokens)
    let chunks = session.programs.launches(tokens: tokens, wanted: wanted, phase)
    let hasHead = wanted != .none && !session.programs.joinsHead(phase)
    programs = [.embed] + chunks.map { .chunk($0) } + (hasHead ? [.head] : [])
  }

  /// What placements call a program.
  func part(_ index: Int) -> Part {
    switch programs[index] {
    case .embed: .embed
    case .chunk(let launch): .chunk(launch.chunk, phase)
    case .head: .head(phase)
    }
  }

  /// The caches that a program reads or makes the next value of.
  func states(_ index: Int) -> Set<String> {
    guard case .chunk(let launch) = programs[index] else { return [] }
    let sources = session.text.configuration.layers[launch.shape.layers].map(\.source)
    return Set(sources.flatMap { ["layers.\($0).keys", "layers.\($0).values"] })
  }

  /// Puts features in place of embeddings, by row of the step.
  func place(_ features: [(row: Int, value: Value)]) {
    guard let hidden = values["hidden"] else { return }
    for feature in features {
      let target = hidden.rows(feature.row, count: feature.value.type.shape[0])
      target.pointer.copyMemory(
        from: feature.value.pointer,
        byteCount: feature.value.type.byteCount
      )
    }
  }

  /// Runs one program to its end.
  ///
  /// - Returns: what ran, and what the user should know.
  /// - Throws: where it cannot be compiled or a launch fails.
  @discardableResult
  func run(_ index: Int) throws -> TaskReport {
    switch programs[index] {
    case .embed: return try embed()
    case .chunk(let launch):
      session.beginWriting(upTo: positions.upperBound)
      if launch.narrows { try narrow() }
      return try run(.chunk(launch.chunk, launch.shape, phase, taps: taps), endsAt: index)
    case .head:
      guard var hidden = values["hidden"] else { return TaskReport() }
      if wanted == .last, hidden.type.shape[0] > 1 {
        hidden = hidden.rows(count - 1, count: 1)
        values["hidden"] = hidden
      }
      return try run(.head(rows: hidden.type.shape[0], phase, taps: taps), endsAt: index)
    }
  }

  private func embed() throws -> TaskReport {
    let start = positions.lowerBound
    values["ids"] = try Value(rows.ids, [tokens])
    values["perLayerIds"] = try Value(rows.perLayerIds, [tokens])
    values["positions"] = try Value((0..<tokens).map { Int32(start + $0) }, [tokens, 1])
    let report = try run(.embed(tokens: tokens), endsAt: 0)
    place(rows.features)
    rows.features = []
    values["position"] = try Value([Int32(start)], [1])
    values["count"] = try Value([Int32(count)], [1])
    values["last"] = try Value([Int32(count - 1)], [1])
    values["queryPosition"] = try Value([Int32(start + count - 1)], [1])
    values["blocks"] = try Value(rows.blocks, [tokens])
    return report
  }

  /// Leaves the last row of everything that the layers without caches of their own still read.
  private func narrow() throws {
    for name in values.keys {
      let isNewRow = name.hasSuffix(".newKeys") || name.hasSuffix(".newValues")
      let isTable = ["perLayer", "slidingTable", "fullTable"].contains(name)
      guard isNewRow || isTable else { continue }
      values[name] = values[name]?.rows(count - 1, count: 1)
    }
    values["position"] = try Value([Int32(positions.upperBound - 1)], [1])
    values["count"] = try Value([1 as Int32], [1])
    values["blocks"] = try Value([0 as Int32], [1])
  }

  /// Runs one program; its results join the values.
  private func run(_ key: ProgramStore.Key, endsAt index: Int) throws -> TaskReport {
    let request = RunningProgram.Request(
      key: key,
      inputs: values,
      states: session.states,
      rows: count
    )
    let done = try RunningProgram(request, in: session.store).run()
    let report = TaskReport(events: done.events, warnings: done.warnings)
    result.events += report.events
    result.warnings += report.warnings
    session.replace(done.states)
    for (name, value) in done.outputs {
      if key.taps.contains(name) { result.taps[name] = value }
      values[name == "hiddenOut" ? "hidden" : name] = value
    }
    if index == programs.count - 1 { finish() }
    return report
  }

  /// Leaves nothing but what the step was run for.
  private func finish() {
    result.logits = wanted == .none ? nil : values["logits"]
    values = [:]
    guard tokens != count, wanted == .all else { return }
    result.logits = result.logits?.rows(0, count: count)
    result.taps = result.taps.mapValues { $0.rows(0, count: count) }
  }
}

extension DecoderSession.Rows {
  /// These rows and padding behind them, which nothing real sees.
  func padded(to count: Int) -> DecoderSession.Rows {
    let missing = count - ids.count
    guard missing > 0 else { return self }
    let zeros = [Int32](repeating: 0, count: missing)
    var result = self
    result.ids += zeros
    result.perLayerIds += zeros
    result.blocks += zeros
    return result
  }
}
