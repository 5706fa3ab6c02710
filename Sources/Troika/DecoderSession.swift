import Devices
import Foundation
import Graph
import Models

/// The decoder with its caches: one conversation's state.
///
/// A conversation runs one request at a time; programs of its steps may run on several threads, in an
/// order that their caches allow.
final class DecoderSession: @unchecked Sendable {
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
  let programs: DecoderPrograms
  /// Token counts that programs exist for; empty where any count does.
  let fixedShapes: [Int]
  let batches: BatchChoice
  private let lock = NSLock()
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
  var cacheByteCount: Int { states.values.reduce(0) { $0 + $1.type.byteCount } }

  /// Forgets everything from `position` on.
  ///
  /// - Returns: whether the caches still hold what the window before it needs.
  func rewind(to position: Int) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    let lost = written - programs.slidingRows
    let needed = position - text.configuration.slidingWindow + 1
    guard position <= self.position, position == 0 || lost <= max(needed, 0) else { return false }
    self.position = position
    if position == 0 { written = 0 }
    return true
  }

  /// Tokens of the program that runs so many rows.
  func compiledTokens(_ count: Int) -> Int { fixedShapes.first { $0 >= count } ?? count }

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
    let step = DecoderStep(rows, at: position, wanted: wanted, phase: phase, taps: taps, in: self)
    for index in step.programs.indices { try step.run(index) }
    advance(past: step)
    return step.result
  }

  /// Moves on behind a step whose programs have all run.
  func advance(past step: DecoderStep) { position = step.positions.upperBound }

  /// The caches as they are now.
  var states: [String: Value] {
    lock.lock()
    defer { lock.unlock() }
    return caches
  }

  /// Takes over caches that lie elsewhere from now on.
  func replace(_ states: [String: Value]) {
    guard !states.isEmpty else { return }
    lock.lock()
    caches.merge(states) { _, new in new }
    lock.unlock()
  }

  /// Takes note that rows up to a position are overwritten from now on.
  func beginWriting(upTo end: Int) {
    lock.lock()
    written = max(written, end)
    lock.unlock()
  }
}
