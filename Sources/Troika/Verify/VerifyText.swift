import Devices
import Graph
import Media
import Models

extension Verification {
  func verifyText(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("text")
    let cases = try set.json("cases.json").member("text")
    for name in try cases.object().keys {
      let entry = try cases.member(name)
      let prompt = try folder.encoder.encode([
        .text(try entry.string("text"), parseSpecial: true)
      ])
      try verifyDecoder("text", name, prompt, PromptFeatures(), goldens, collect)
    }
    try verifyFrequencies(goldens, collect)
  }

  private func verifyFrequencies(
    _ goldens: SafetensorsFile,
    _ collect: (Check) -> Void
  ) throws {
    let text = folder.model.configuration.text
    for (key, got) in [
      ("rope.sliding_inv_freq", text.slidingFrequencies),
      ("rope.full_inv_freq", text.fullFrequencies),
    ] where goldens.entry(key) != nil {
      let golden = try goldens.numbers(key)
      collect(Tolerance.encoder.check("text", key, got, golden, width: golden.count))
    }
  }

  func verifyMultimodal(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("multimodal")
    let cases = try set.json("cases.json").member("multimodal")
    for name in try cases.object().keys {
      let entry = try cases.member(name)
      let conversation = try GoldenConversation(try entry.elements("messages"))
      let template = ChatTemplate(
        mediaStyle: MediaStyle(rawValue: try entry.string("style", or: "plain")) ?? .plain,
        thinking: try entry.bool("thinking", or: false)
      )
      let (extents, features) = try encodeMedia(conversation, try encoders())
      let single =
        isHalf(.vision) || isHalf(.audio)
        ? try encodeMedia(conversation, singleEncoders).1 : features
      let prompt = try folder.encoder.encode(
        try template.pieces(conversation.messages),
        extents: extents
      )
      let ordered = prompt.spans.compactMap { features[$0.medium]?[$0.frame] }
      let singles = prompt.spans.compactMap { single[$0.medium]?[$0.frame] }
      let types = try goldens.integers("\(name).mm_token_type_ids")
      collect(
        .exact(
          "multimodal",
          "\(name) token types",
          types == prompt.typeIDs,
          "expected \(types.count) types, got \(prompt.typeIDs.count)"
        )
      )
      let both = PromptFeatures(placed: ordered, single: singles)
      try verifyDecoder("multimodal", name, prompt, both, goldens, collect)
    }
  }

  private func encodeMedia(
    _ conversation: GoldenConversation,
    _ encoders: Encoders
  ) throws -> ([Medium: MediaExtent], [Medium: [Value]]) {
    var extents: [Medium: MediaExtent] = [:]
    var features: [Medium: [Value]] = [:]
    for (medium, name) in conversation.names {
      switch medium.kind {
      case .image:
        let value = try encoders.encode(prepareImage(name)).features
        extents[medium] = .tokens(value.type.shape[0])
        features[medium] = [value]
      case .audio:
        let value = try encoders.encode(prepareAudio(name)).features
        extents[medium] = .tokens(value.type.shape[0])
        features[medium] = [value]
      case .video:
        let (frames, seconds) = try prepareVideo(name)
        let values = try frames.map { try encoders.encode($0).features }
        extents[medium] = .frames(
          zip(seconds, values).map { .init(seconds: $0, tokenCount: $1.type.shape[0]) }
        )
        features[medium] = values
      }
    }
    return (extents, features)
  }

  /// Prefills a prompt with every row going to the end, compares what the golden captured, then
  /// decodes greedily.
  private func verifyDecoder(
    _ stage: String,
    _ name: String,
    _ prompt: EncodedPrompt,
    _ features: PromptFeatures,
    _ goldens: SafetensorsFile,
    _ collect: (Check) -> Void
  ) throws {
    let ids = try goldens.integers("\(name).input_ids")
    guard ids == prompt.ids else {
      collect(.exact(stage, "\(name) ids", false, "expected \(ids), got \(prompt.ids)"))
      return
    }
    collect(.exact(stage, "\(name) ids", true))
    let text = folder.model.configuration.text
    let golden = try goldens.integers("\(name).greedy_ids")
    let session = try session(length: ids.count, steps: golden.count)
    let padToken = text.padToken
    let rows = PromptRows(
      prompt,
      features: features.placed,
      padToken: padToken,
      mediaPerLayer: .pad
    )
    let singles = PromptRows(
      prompt,
      features: features.single,
      padToken: padToken,
      mediaPerLayer: .pad
    )
    let layers = text.layers.indices.map { "layers.\($0)" }
    let taps = Set(layers + ["embeds", "ple_token", "ple", "norm"])
    let result = try session.step(
      rows.rows(0..<ids.count),
      wanted: .all,
      phase: .prefill,
      taps: taps
    )
    try compare(stage, name, result, layers, goldens, collect)
    try verifyGreedy(stage, name, session, result, golden, singles, collect)
  }

  private func compare(
    _ stage: String,
    _ name: String,
    _ result: DecoderSession.Result,
    _ layers: [String],
    _ goldens: SafetensorsFile,
    _ collect: (Check) -> Void
  ) throws {
    let text = folder.model.configuration.text
    let isHalf = decodesInHalf || isHalf(.vision) || isHalf(.audio)
    let hidden = isHalf ? Tolerance.halfHidden : .decoder
    let logits = isHalf ? Tolerance.halfLogits : .decoder
    func last(_ values: [Float], _ width: Int) -> [Float] { Array(values.suffix(width)) }
    let taps = result.taps.mapValues(\.floats)
    let stacked = layers.flatMap { taps[$0] ?? [] }
    let lastRows = layers.flatMap { last(taps[$0] ?? [], text.hiddenSize) }
    let all = result.logits?.floats ?? []
    let comparisons: [(key: String, got: [Float], width: Int, tolerance: Tolerance)] = [
      ("embeds", taps["embeds"] ?? [], text.hiddenSize, hidden),
      ("ple_token", taps["ple_token"] ?? [], text.perLayerSize, hidden),
      ("ple", taps["ple"] ?? [], text.perLayerSize, hidden),
      ("hidden", stacked, text.hiddenSize, hidden),
      ("hidden_last", lastRows, text.hiddenSize, hidden),
      ("norm", taps["norm"] ?? [], text.hiddenSize, hidden),
      ("logits", all, text.vocabularySize, logits),
      ("logits_last", last(all, text.vocabularySize), text.vocabularySize, logits),
    ]
    for comparison in comparisons where goldens.entry("\(name).\(comparison.key)") != nil {
      let golden = try goldens.numbers("\(name).\(comparison.key)")
      let isLogits = comparison.key.hasPrefix("logits")
      var check = comparison.tolerance.check(
        stage,
        "\(name) \(comparison.key)",
        comparison.got,
        golden,
        width: comparison.width,
        correlates: isLogits
      )
      if quantised != nil {
        check.isGated = false
        let own = Tolerance.correlations(comparison.got, golden, width: comparison.width)
        if isLogits {
          correlations = (correlations.sum + own.sum, correlations.rows + own.rows)
        }
      }
      collect(check)
    }
  }

  /// Programs of the f32 unit, for comparison.
  private var singleStore: ProgramStore {
    ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: Placement()
    )
  }

  private var singleEncoders: Encoders { Encoders(store: singleStore, model: folder.model) }

  /// A session for a prompt of a length, on the placement or on the f32 unit.
  private func session(
    length: Int,
    steps: Int,
    inSingle: Bool = false
  ) throws -> DecoderSession {
    try DecoderSession(
      store: inSingle ? singleStore : store,
      text: folder.model.text,
      layout: layout,
      placement: inSingle ? Placement() : placement,
      context: max(length + steps, 640),
      batch: max(length, 512),
      fixedShapes: inSingle ? [] : try shapes(batch: max(length, 512)).tokens,
      sharedLayers: inSingle ? .last : sharedLayers
    )
  }

  private func verifyGreedy(
    _ stage: String,
    _ name: String,
    _ session: DecoderSession,
    _ prefill: DecoderSession.Result,
    _ golden: [Int],
    _ singles: PromptRows,
    _ collect: (Check) -> Void
  ) throws {
    let isHalf = decodesInHalf || isHalf(.vision) || isHalf(.audio)
    var greedy = GreedyComparison(golden: golden, isExact: !isHalf)
    let width = folder.model.configuration.text.vocabularySize
    var logits = Array((prefill.logits?.floats ?? []).suffix(width))
    let single =
      isHalf ? try self.session(length: singles.count, steps: golden.count, inSingle: true) : nil
    var reference =
      try single?.step(singles.rows(0..<singles.count), wanted: .last, phase: .prefill).logits?
      .floats
      ?? []
    for token in golden {
      guard try greedy.add(logits, reference) else { break }
      let row = DecoderSession.Rows(
        ids: [Int32(token)],
        perLayerIds: [Int32(token)],
        features: [],
        blocks: [0]
      )
      logits = try session.step(row, wanted: .last, phase: .decode).logits?.floats ?? []
      reference = try single?.step(row, wanted: .last, phase: .decode).logits?.floats ?? []
    }
    var check = greedy.check(stage, "\(name) greedy \(golden.count)")
    check.isGated = quantised == nil
    collect(check)
  }
}

/// Features of a prompt's media, in the order of their places.
private struct PromptFeatures {
  /// From the placement that is verified.
  var placed: [Value] = []
  /// From the f32 unit.
  var single: [Value] = []
}
