import Foundation
import Graph
import Models
import TestSupport

@testable import Devices
@testable import Troika

/// One prompt with a picture and a sound, and four tokens, over any placement of its seven parts.
///
/// Programs are compiled once for each part and unit, towers run once for each unit.
final class PlacementLattice {
  static let parts = ["vision", "audio", "chunk1", "chunk2", "chunk3", "chunk4", "head"]

  /// What a placement made.
  struct Outcome {
    /// Logits of the prompt's last position and of each further token.
    var logits: [[Float]] = []
    /// Why it does not hold the gates; nil where it does.
    var failure: String?
  }

  let units: [UnitID]
  private let folder: ModelFolder
  private let registry = Registry(threads: 2)
  private let shared = SharedPrograms()
  private let prompt: EncodedPrompt
  private let golden: [Int]
  private let layout: ChunkLayout
  private var features: [UnitID: [Medium: Value]] = [:]
  private var reference: [[Float]] = []

  init(units: [UnitID]) throws {
    self.units = units
    folder = try ModelFolder(path: GoldenFolder.model)
    layout =
      ChunkLayout(ends: [3, 6, 8, 10], layerCount: 10)
      ?? ChunkLayout(standardFor: folder.model.configuration.text)
    let set = try GoldenSet(folder: GoldenFolder.tiny)
    golden = Array(try set.tensors("multimodal").integers("image_and_audio.greedy_ids").prefix(4))
    let entry = try set.json("cases.json").member("multimodal").member("image_and_audio")
    let conversation = try GoldenConversation(try entry.elements("messages"))
    let verification = try Verification(
      model: folder,
      goldens: GoldenFolder.tiny,
      placement: Placement(),
      registry: registry
    )
    var extents: [Medium: MediaExtent] = [:]
    for unit in units {
      let encoders = try Self.encoders(unit, folder, registry)
      for (medium, name) in conversation.names {
        let encoding =
          medium.kind == .audio
          ? try encoders.encode(verification.prepareAudio(name))
          : try encoders.encode(verification.prepareImage(name))
        let value = encoding.features
        extents[medium] = .tokens(value.type.shape[0])
        features[unit, default: [:]][medium] = value
      }
    }
    let template = ChatTemplate(
      mediaStyle: MediaStyle(rawValue: try entry.string("style", or: "plain")) ?? .plain,
      thinking: try entry.bool("thinking", or: false)
    )
    prompt = try folder.encoder.encode(
      try template.pieces(conversation.messages),
      extents: extents
    )
    reference = try logits([UnitID](repeating: .cpu, count: Self.parts.count))
  }

  private static func encoders(
    _ unit: UnitID,
    _ folder: ModelFolder,
    _ registry: Registry
  ) throws -> Encoders {
    let isFixed = try registry.unit(unit).profile.needsFixedShapes
    return Encoders(
      store: ProgramStore(
        model: folder.model,
        weights: folder.weights,
        registry: registry,
        placement: Placement(base: unit)
      ),
      model: folder.model,
      visionShapes: isFixed ? .bucketed : .exact,
      audioShapes: isFixed ? .bucketed : .exact
    )
  }

  /// Holds one placement, a unit for each part, to the gates.
  func outcome(_ choice: [UnitID]) throws -> Outcome {
    var outcome = Outcome(logits: try logits(choice))
    let isHalf = try choice.contains {
      try registry.unit($0).profile.numerics.storage == .f16
    }
    let tolerance = isHalf ? Tolerance.halfLogits : .decoder
    var greedy = GreedyComparison(golden: golden, isExact: !isHalf)
    for (step, logits) in outcome.logits.enumerated() {
      let check = tolerance.check(
        "lattice",
        "step \(step)",
        logits,
        reference[step],
        width: logits.count,
        correlates: true
      )
      if !check.holds { outcome.failure = outcome.failure ?? "\(check)" }
      _ = try greedy.add(logits, reference[step])
    }
    if !greedy.holds { outcome.failure = greedy.notes.joined(separator: "; ") }
    return outcome
  }

  private func logits(_ choice: [UnitID]) throws -> [[Float]] {
    let placement = Placement(rules: zip(Self.parts, choice).map { .init($0, $1) })
    let store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: placement,
      shared: shared
    )
    let shapes = try CompiledShapes(
      placement,
      layout: layout,
      registry: registry,
      prefill: [64],
      batch: 64
    )
    let session = try DecoderSession(
      store: store,
      text: folder.model.text,
      layout: layout,
      placement: placement,
      context: 512,
      batch: 64,
      fixedShapes: shapes.tokens
    )
    let rows = PromptRows(
      prompt,
      padToken: folder.model.configuration.text.padToken,
      mediaPerLayer: .pad
    )
    let media = prompt.spans.map { span in
      features[span.medium.kind == .audio ? choice[1] : choice[0]]?[span.medium]
    }
    var results: [[Float]] = []
    for batch in session.batches(of: rows, from: 0, cuts: []) {
      var own = rows.rows(batch)
      own.features = rows.placed(media, in: batch)
      let isLast = batch.upperBound == rows.count
      let result = try session.step(own, wanted: isLast ? .last : .none, phase: .prefill)
      if isLast { results.append(result.logits?.floats ?? []) }
    }
    for token in golden {
      let row = DecoderSession.Rows(
        ids: [Int32(token)],
        perLayerIds: [Int32(token)],
        features: [],
        blocks: [0]
      )
      results.append(try session.step(row, wanted: .last, phase: .decode).logits?.floats ?? [])
    }
    return results
  }
}
