import Foundation
import Graph
import Models
import TestSupport

@testable import Devices
@testable import Troika

/// A prompt in three batches and three tokens over a model whose rings have only the window's rows,
/// so that every batch after the first overwrites rows that its own attention still reads.
struct FaultSteps {
  /// What the steps made.
  struct Outcome {
    var logits: [[Float]] = []
    var events: [[Timeline.Event]] = []
    var warnings: [String] = []
  }

  /// A part that moves before a step, as if its unit had failed before anything was launched.
  struct Move {
    let step: Int
    let error: DeviceError
    let part: Part
  }

  let placement: Placement
  let folder: ModelFolder
  private let weights: any WeightSource
  static let batches = [16, 16, 10, 1, 1, 1]

  init(_ placement: String) throws {
    self.placement = try Placement(parsing: placement)
    folder = try ModelFolder(path: GoldenFolder.model)
    weights = folder.weights
  }

  static func phase(of step: Int) -> Part.Phase { batches[step] == 1 ? .decode : .prefill }

  /// The part that a segment of a step belongs to.
  static func part(_ name: String, step: Int) -> Part {
    let number = name.dropFirst(5).prefix { $0.isNumber }
    if name.hasPrefix("chunk"), let chunk = Int(number) { return .chunk(chunk, phase(of: step)) }
    return name.hasPrefix("head") ? .head(phase(of: step)) : .embed
  }

  func run(
    _ faults: FaultPlan = FaultPlan(),
    moves: [Move] = [],
    allowsFallback: Bool = true
  ) throws -> Outcome {
    let registry = Registry(threads: 2, faults: faults)
    let store = ProgramStore(
      model: folder.model,
      weights: weights,
      registry: registry,
      placement: placement,
      failures: UnitFailures(
        allowsFallback: allowsFallback,
        limitNanoseconds: faults.limitNanoseconds
      )
    )
    let isFixed = placement.units.contains(.neuralEngine)
    let session = try DecoderSession(
      store: store,
      text: folder.model.text,
      layout: ChunkLayout(ends: [3, 6, 8, 10], layerCount: 10)
        ?? ChunkLayout(standardFor: folder.model.configuration.text),
      placement: placement,
      context: 64,
      batch: 16,
      fixedShapes: isFixed ? [1, 16] : []
    )
    var outcome = Outcome()
    var next = 0
    for (step, count) in Self.batches.enumerated() {
      for move in moves where move.step == step {
        _ = store.failures.note(move.error, in: move.part)
      }
      let ids = (next..<next + count).map { Int32($0 * 7 % 200 + 40) }
      next += count
      let rows = DecoderSession.Rows(
        ids: ids,
        perLayerIds: ids,
        features: [],
        blocks: ids.map { _ in 0 }
      )
      let isPrompt = step < 2
      let result = try session.step(
        rows,
        wanted: isPrompt ? .none : .last,
        phase: Self.phase(of: step)
      )
      outcome.logits.append(result.logits?.floats ?? [])
      outcome.events.append(result.events)
      outcome.warnings += result.warnings
      // What hangs goes on now and writes nonsense where its results belonged.
      if !result.warnings.isEmpty { try Self.release(registry, placement) }
    }
    return outcome
  }

  private static func release(_ registry: Registry, _ placement: Placement) throws {
    for unit in placement.units { (try registry.unit(unit) as? FaultyUnit)?.release() }
    Thread.sleep(forTimeInterval: 0.005)
  }

  /// Every launch on a unit without faults: its step and part, in order.
  func launches(on unit: UnitID) throws -> [(step: Int, part: Part)] {
    try run().events.enumerated().flatMap { step, events in
      events.filter { $0.unit == unit && $0.kind == .launch }.map {
        (step, Self.part($0.program, step: step))
      }
    }
  }

  /// The run whose parts move as a fault makes them move, without any fault.
  func expected(_ step: Int, _ part: Part, on unit: UnitID, losesUnit: Bool) throws -> Outcome {
    let failure = DeviceError.launch(unit: unit.name, program: "", reason: "")
    guard losesUnit else {
      return try run(moves: [Move(step: step, error: failure, part: part)])
    }
    let phase = Self.phase(of: step)
    let order: [Part] = [.embed] + (1...4).map { Part.chunk($0, phase) } + [.head(phase)]
    let later = order.drop { $0 != part }
    let lost = DeviceError.lost(unit: unit.name, program: "", reason: "")
    return try run(
      moves: later.map { Move(step: step, error: failure, part: $0) }
        + [Move(step: step + 1, error: lost, part: part)]
    )
  }
}
