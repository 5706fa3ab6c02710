extension TextConfiguration {
  /// Reads the `text_config` of a checkpoint.
  ///
  /// - Throws: `JSONError` naming the field.
  public init(_ node: JSONNode) throws {
    try Self.refuseUnsupported(node)
    let hiddenSize = try node.size("hidden_size")
    let queryHeads = try node.size("num_attention_heads")
    let headSize = try node.size("head_dim", or: 256)
    let globalHeadSize = try Self.globalHeadSize(node, headSize: headSize)
    layers = try Self.layers(node, headSize: headSize, globalHeadSize: globalHeadSize)
    for layer in layers where queryHeads % layer.keyValueHeads != 0 {
      throw node.mismatch("query heads as a multiple of \(layer.keyValueHeads) key-value heads")
    }
    let rope = try node.optional("rope_parameters")
    slidingFrequencies = try Self.frequencies(
      try rope?.optional("sliding_attention"),
      theta: 10_000,
      kind: "default",
      headSize: headSize
    )
    fullFrequencies = try Self.frequencies(
      try rope?.optional("full_attention"),
      theta: 1_000_000,
      kind: "proportional",
      headSize: globalHeadSize
    )
    self.hiddenSize = hiddenSize
    self.queryHeads = queryHeads
    vocabularySize = try node.size("vocab_size")
    perLayerSize = try node.size("hidden_size_per_layer_input", least: 0, or: 256)
    perLayerVocabularySize = try node.size(
      "vocab_size_per_layer_input",
      or: vocabularySize
    )
    slidingWindow = try node.size("sliding_window", or: 512)
    logitSoftcap = try node.optional("final_logit_softcapping").map { _ throws(JSONError) in
      Float(try node.positive("final_logit_softcapping", or: 30))
    }
    epsilon = Float(try node.positive("rms_norm_eps", or: 1e-6))
    seesWholeMedia = try node.string("use_bidirectional_attention", or: "") == "vision"
    tiesEmbeddings = try node.bool("tie_word_embeddings", or: true)
    padToken = try node.integer("pad_token_id", or: 0)
    maximumPositions = try node.size("max_position_embeddings", least: 2, or: 131_072)
    guard (0..<min(vocabularySize, perLayerVocabularySize)).contains(padToken) else {
      throw try node.member("pad_token_id").mismatch("an id of the vocabulary")
    }
  }

  private static func refuseUnsupported(_ node: JSONNode) throws(JSONError) {
    try node.refuse("enable_moe_block", unless: [.bool(false)])
    try node.refuse("attention_bias", unless: [.bool(false)])
    try node.refuse("hidden_activation", unless: [.string("gelu_pytorch_tanh")])
    try node.refuse("use_bidirectional_attention", unless: [.string("vision")])
  }

  private static func globalHeadSize(
    _ node: JSONNode,
    headSize: Int
  ) throws(JSONError) -> Int {
    if let overrides = try node.optional("per_layer_config") {
      for member in try overrides.object().members {
        if let layer = try overrides.optional(member.key),
          try layer.optional("head_dim") != nil
        {
          return try layer.size("head_dim")
        }
      }
      return headSize
    }
    return try node.size("global_head_dim", or: 512)
  }

  private static func layers(
    _ node: JSONNode,
    headSize: Int,
    globalHeadSize: Int
  ) throws -> [Layer] {
    let count = try node.size("num_hidden_layers")
    guard count <= 1024 else {
      throw try node.member("num_hidden_layers").mismatch("at most 1024", came: "\(count)")
    }
    let slides = try kinds(node, count: count)
    let shared = try node.size("num_kv_shared_layers", least: 0, or: 0)
    guard shared < count else {
      throw try node.member("num_kv_shared_layers").mismatch("below \(count)", came: "\(shared)")
    }
    let first = count - shared
    let intermediate = try node.size("intermediate_size")
    let isDoubleWide = try node.bool("use_double_wide_mlp", or: false)
    let isKeyValue = try node.bool("attention_k_eq_v", or: false)
    let heads = try node.size("num_key_value_heads", or: 1)
    var globalHeads = heads
    if isKeyValue { globalHeads = try node.size("num_global_key_value_heads", or: heads) }
    return try (0..<count).map { index in
      let isSliding = slides[index]
      guard
        let source = index < first ? index : (0..<first).last(where: { slides[$0] == isSliding })
      else {
        throw try node.member("num_kv_shared_layers").mismatch(
          "an owning layer of the kind of layer \(index)"
        )
      }
      let own = try node.optional("per_layer_config")?.optional("\(index)")
      return Layer(
        isSliding: isSliding,
        headSize: isSliding ? headSize : globalHeadSize,
        keyValueHeads: try own?.optional("num_key_value_heads")?.integer()
          ?? (isSliding ? heads : globalHeads),
        intermediateSize: intermediate * (isDoubleWide && index >= first ? 2 : 1),
        source: source,
        sharesKeysAsValues: isKeyValue && !isSliding
      )
    }
  }

  private static func kinds(_ node: JSONNode, count: Int) throws(JSONError) -> [Bool] {
    var slides = (0..<count).map { ($0 + 1) % 6 != 0 }
    if try node.optional("layer_types") != nil {
      let names = try node.strings("layer_types")
      guard names.count == count else {
        throw try node.member("layer_types").mismatch("\(count) entries", came: "\(names.count)")
      }
      for name in names where name != "sliding_attention" && name != "full_attention" {
        throw try node.member("layer_types").mismatch(
          "sliding_attention or full_attention",
          came: "'\(name)'"
        )
      }
      slides = names.map { $0 == "sliding_attention" }
    }
    slides[count - 1] = false
    return slides
  }

  private static func frequencies(
    _ node: JSONNode?,
    theta: Double,
    kind: String,
    headSize: Int
  ) throws(JSONError) -> [Float] {
    guard let node else {
      return kind == "default"
        ? frequencies(theta: theta, headSize: headSize)
        : frequencies(theta: theta, headSize: headSize, turning: 0.25)
    }
    let kind = try node.string("rope_type", or: kind)
    let theta = try node.positive("rope_theta", or: theta)
    switch kind {
    case "default": return frequencies(theta: theta, headSize: headSize)
    case "proportional":
      let fraction = try node.double("partial_rotary_factor", or: 1)
      guard fraction > 0, fraction <= 1 else {
        throw node.mismatch(
          "a partial_rotary_factor above 0 and at most 1",
          came: "\(fraction)"
        )
      }
      return frequencies(theta: theta, headSize: headSize, turning: fraction)
    default:
      throw node.mismatch("a rope_type of default or proportional", came: "'\(kind)'")
    }
  }
}
