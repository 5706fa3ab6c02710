import Devices
import Graph
import Models

/// The decoder with its caches: one conversation's state.
///
/// Not shared between threads: a conversation runs one step at a time.
final class DecoderSession {
  /// One step's rows, before embedding.
  struct Rows {
    /// Ids that are embedded; the pad id at media positions.
    var ids: [Int32]
    /// Ids of the per-layer rows; negative for a zero row.
    var perLayerIds: [Int32]
    /// Rows that replace embeddings, by row of the step.
    var features: [(row: Int, value: Value)]
    /// Runs of media that see each other, 0 elsewhere.
    var blocks: [Int32]
  }

  /// What a step made.
  struct Result {
    /// `[Q, V]`, where rows went on to the end.
    var logits: Value?
    /// Inner values by name.
    var taps: [String: Value] = [:]
    /// What ran when.
    var events: [Timeline.Event] = []
    /// What the user should know about units that failed.
    var warnings: [String] = []
  }

  let store: ProgramStore
  let text: TextDecoder
  let context: Int
  let batch: Int
  private(set) var position = 0
  /// One past the last position ever written; rows of a ring behind it may be of any age.
  private var written = 0
  private let programs: DecoderPrograms
  /// Token counts that programs exist for; empty where any count does.
  private let fixedShapes: [Int]
  private let batches: BatchChoice
  private var caches: [String: Value] = [:]

  init(
    store: ProgramStore,
    text: TextDecoder,
    layout: ChunkLayout,
    placement: Placement,
    context: Int,
    batch: Int,
    fixedShapes: [Int] = [],
    sharedLayers: TextDecoder.SharedLayers = .last,
    batches: BatchChoice = .smallest
  ) throws {
    self.fixedShapes = fixedShapes
    self.batches = batches
    self.store = store
    self.text = text
    self.context = context
    self.batch = batch
    programs = try DecoderPrograms(
      in: store,
      text: text,
      layout: layout,
      placement: placement,
      context: context,
      batch: batch,
      hasFixedShapes: !fixedShapes.isEmpty,
      sharedLayers: sharedLayers
    )
    for layer in text.configuration.owningLayers {
      let type = programs.cacheType(layer: layer)
      caches["layers.\(layer).keys"] = try Value(type)
      caches["layers.\(layer).values"] = try Value(type)
    }
  }

  /// Bytes of the caches.
  var cacheByteCount: Int { caches.values.reduce(0) { $0 + $1.type.byteCount } }

  /// Forgets everything from `position` on.
  ///
  /// - Returns: whether the caches still hold what the window before it needs.
  func rewind(to position: Int) -> Bool {
    let lost = written - programs.slidingRows
    let needed = position - text.configuration.slidingWindow + 1
    guard position <= self.position, position == 0 || lost <= max(needed, 0) else { return false }
    self.position = position
    if position == 0 { written = 0 }
    return true
  }

  /// How many of some tokens the next step takes.
  func nextBatch(of tokens: Int) -> Int {
    guard !fixedShapes.isEmpty, !text.configuration.seesWholeMedia else { return batch }
    return BatchPlan(tokens: tokens, available: fixedShapes, choice: batches).shapes.first ?? batch
  }

  /// Runs rows through the decoder and moves on behind them.
  ///
  /// - Parameters:
  ///   - rows: at most `batch` rows.
  ///   - wanted: which rows' logits are made.
  ///   - phase: what the step is called in placements.
  ///   - taps: inner values to keep.
  /// - Returns: logits and inner values.
  /// - Throws: where a program cannot be compiled or a launch fails.
  func step(
    _ rows: Rows,
    wanted: TextDecoder.Rows,
    phase: Part.Phase,
    taps: Set<String> = []
  ) throws -> Result {
    let count = rows.ids.count
    let tokens = fixedShapes.first { $0 >= count } ?? count
    var result = Result()
    var values = try embed(rows.padded(to: tokens), count: count, &result)
    values.merge(caches) { current, _ in current }
    for launch in programs.launches(tokens: tokens, wanted: wanted, phase) {
      if launch.narrows { try narrow(&values, count: count) }
      let key = ProgramStore.Key.chunk(launch.chunk, launch.shape, phase, taps: taps)
      try run(key, &values, count: count, &result)
    }
    if wanted != .none, !programs.joinsHead(phase), var hidden = values["hidden"] {
      if wanted == .last, hidden.type.shape[0] > 1 {
        hidden = hidden.rows(count - 1, count: 1)
        values["hidden"] = hidden
      }
      let key = ProgramStore.Key.head(rows: hidden.type.shape[0], phase, taps: taps)
      try run(key, &values, count: count, &result)
    }
    result.logits = wanted == .none ? nil : values["logits"]
    if tokens != count, wanted == .all {
      result.logits = result.logits?.rows(0, count: count)
      result.taps = result.taps.mapValues { $0.rows(0, count: count) }
    }
    position += count
    written = max(written, position)
    return result
  }

  private func embed(
    _ rows: Rows,
    count: Int,
    _ result: inout Result
  ) throws -> [String: Value] {
    let tokens = rows.ids.count
    var values: [String: Value] = [:]
    values["ids"] = try Value(rows.ids, [tokens])
    values["perLayerIds"] = try Value(rows.perLayerIds, [tokens])
    values["positions"] = try Value((0..<tokens).map { Int32(position + $0) }, [tokens, 1])
    try run(.embed(tokens: tokens), &values, count: count, &result)
    guard let hidden = values["hidden"] else { return values }
    for feature in rows.features {
      let target = hidden.rows(feature.row, count: feature.value.type.shape[0])
      target.pointer.copyMemory(
        from: feature.value.pointer,
        byteCount: feature.value.type.byteCount
      )
    }
    values["position"] = try Value([Int32(position)], [1])
    values["count"] = try Value([Int32(count)], [1])
    values["last"] = try Value([Int32(count - 1)], [1])
    values["queryPosition"] = try Value([Int32(position + count - 1)], [1])
    values["blocks"] = try Value(rows.blocks, [tokens])
    return values
  }

  /// Leaves the last row of everything that the layers without caches of their own still read.
  private func narrow(_ values: inout [String: Value], count: Int) throws {
    for name in values.keys {
      let isNewRow = name.hasSuffix(".newKeys") || name.hasSuffix(".newValues")
      let isTable = ["perLayer", "slidingTable", "fullTable"].contains(name)
      guard isNewRow || isTable else { continue }
      values[name] = values[name]?.rows(count - 1, count: 1)
    }
    values["position"] = try Value([Int32(position + count - 1)], [1])
    values["count"] = try Value([1 as Int32], [1])
    values["blocks"] = try Value([0 as Int32], [1])
  }

  /// Runs one program; its results join the values.
  private func run(
    _ key: ProgramStore.Key,
    _ values: inout [String: Value],
    count: Int,
    _ result: inout Result
  ) throws {
    let request = RunningProgram.Request(key: key, inputs: values, states: caches, rows: count)
    let done = try RunningProgram(request, in: store).wait()
    result.events += done.events
    result.warnings += done.warnings
    caches.merge(done.states) { _, new in new }
    values.merge(done.states) { _, new in new }
    for (name, value) in done.outputs {
      if key.taps.contains(name) { result.taps[name] = value }
      values[name == "hiddenOut" ? "hidden" : name] = value
    }
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
