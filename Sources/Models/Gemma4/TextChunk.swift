public import Graph

extension TextDecoder {
  /// A run of decoder layers over one step.
  ///
  /// Inputs: `hidden [T, D]`; per-layer inputs as `perLayerTokens [T, L·P]` in the first chunk and
  /// `perLayer [T, L·P]` in later ones; `slidingTable`, `fullTable [T, E]`; `position [1]` i32 of the
  /// first row, `count [1]` i32 of real rows, `last [1]` i32 = count - 1 and `queryPosition [1]` i32
  /// where only the last row goes on; `blocks [T]` i32 where the model sees whole media; for each
  /// layer N that owns a cache `layers.N.keys`, `layers.N.values [R, G, E]`; for each cache of an
  /// earlier chunk the same and `layers.N.newKeys`, `layers.N.newValues [T, G, E]`. Where all rows go
  /// on to the end, the last chunk that reads a cache updates it, else the one that owns it.
  /// Outputs: `hiddenOut [Q, D]` (or `logits [Q, V]` with the head), the caches, and what later chunks
  /// read: `perLayer`, `layers.N.newKeys`, `layers.N.newValues`.
  ///
  /// - Throws: `GraphError` where the checkpoint lacks a tensor or has another shape.
  public func chunk(
    _ shape: ChunkShape,
    name: String,
    over source: any WeightSource,
    taps: Set<String> = []
  ) throws(GraphError) -> Graph {
    let tracer = Tracer(name, over: source, taps: taps)
    tracer.scope("text") {
      var step = Step(decoder: self, shape: shape, tracer: tracer)
      step.run()
    }
    return try tracer.finish()
  }
}

/// The values that live while one chunk is traced.
private struct Step {
  let decoder: TextDecoder
  let shape: TextDecoder.ChunkShape
  let tracer: Tracer
  let position: Tensor
  let count: Tensor
  let blocks: Tensor?
  var queryPosition: Tensor
  var hidden: Tensor
  var perLayer: Tensor?
  var tables: (sliding: Tensor, full: Tensor)
  var sources: [Int: LayerKeysValues] = [:]

  var c: TextConfiguration { decoder.configuration }

  init(decoder: TextDecoder, shape: TextDecoder.ChunkShape, tracer: Tracer) {
    self.decoder = decoder
    self.shape = shape
    self.tracer = tracer
    let c = decoder.configuration
    let tokens = shape.tokens
    func float(_ name: String, _ width: Int) -> Tensor {
      tracer.input(name, TensorType(.f32, [tokens, width]))
    }
    hidden = float("hidden", c.hiddenSize)
    if c.perLayerSize > 0 {
      let name = shape.layers.lowerBound == 0 ? "perLayerTokens" : "perLayer"
      perLayer = float(name, c.layers.count * c.perLayerSize)
    }
    tables = (
      float("slidingTable", c.slidingFrequencies.count * 2),
      float("fullTable", c.fullFrequencies.count * 2)
    )
    position = tracer.input("position", TensorType(.i32, [1]))
    count = tracer.input("count", TensorType(.i32, [1]))
    blocks = c.seesWholeMedia ? tracer.input("blocks", TensorType(.i32, [tokens])) : nil
    queryPosition = position
  }

  mutating func run() {
    if shape.layers.lowerBound == 0 { combinePerLayer() }
    for index in shape.layers {
      tracer.scope("layers.\(index)") { layer(index) }
      if shape.rows == .none, shape.narrows, index == c.firstSharedLayer - 1 { break }
    }
    finish()
  }

  /// Token rows and the projection of the embeddings, one normalised sum for all layers.
  private mutating func combinePerLayer() {
    tracer.tap("embeds", hidden)
    guard let tokens = perLayer else { return }
    let width = c.layers.count * c.perLayerSize
    perLayer = tracer.scope("perLayer") {
      let projection = tracer.weight(
        decoder.prefix + "per_layer_model_projection.weight",
        [width, c.hiddenSize]
      )
      let norm = tracer.weight(
        decoder.prefix + "per_layer_projection_norm.weight",
        [c.perLayerSize]
      )
      let context = (hidden.linear(projection) * (1 / Float(c.hiddenSize).squareRoot()))
        .reshaped([shape.tokens, c.layers.count, c.perLayerSize])
        .rmsNorm(norm, epsilon: c.epsilon)
        .reshaped([shape.tokens, width])
      return (context + tokens) * Float(0.5).squareRoot()
    }
    tracer.tap("ple_token", tokens)
    if let perLayer { tracer.tap("ple", perLayer) }
    if shape.layers.upperBound < c.layers.count, let perLayer {
      tracer.output("perLayer", perLayer)
    }
  }

  private mutating func layer(_ index: Int) {
    let layer = c.layers[index]
    let weights = LayerWeights(
      prefix: decoder.prefix + "layers.\(index).",
      tracer: tracer,
      epsilon: c.epsilon
    )
    let normed = weights.norm("input_layernorm", hidden)
    if layer.source == index {
      sources[index] = LayerKeysValues(
        index,
        decoder: decoder,
        weights: weights,
        input: normed,
        table: table(layer),
        shape: shape,
        position: position,
        count: count
      )
    } else if sources[layer.source] == nil {
      sources[layer.source] = LayerKeysValues(
        borrowed: layer.source,
        decoder: decoder,
        tracer: tracer,
        shape: shape,
        position: position,
        count: count
      )
    }
    var input = normed
    if index == c.firstSharedLayer - 1, shape.narrows {
      if shape.rows == .none { return }
      if shape.tokens > 1 { input = narrow(normed) }
    }
    attend(layer, input, weights)
    feedForward(layer, weights)
    addPerLayer(index, weights)
    hidden = hidden * tracer.weight(weights.prefix + "layer_scalar", [1])
    tracer.tap("layers.\(index)", hidden)
  }

  /// Keeps the last real row of everything the rest of the step reads.
  private mutating func narrow(_ normed: Tensor) -> Tensor {
    tracer.scope("narrow") {
      let last = tracer.input("last", TensorType(.i32, [1]))
      queryPosition = tracer.input("queryPosition", TensorType(.i32, [1]))
      hidden = hidden.gathered(last)
      perLayer = perLayer?.gathered(last)
      tables = (tables.sliding.gathered(last), tables.full.gathered(last))
      return normed.gathered(last)
    }
  }

  private func table(_ layer: TextConfiguration.Layer) -> Tensor {
    layer.isSliding ? tables.sliding : tables.full
  }

  private mutating func attend(
    _ layer: TextConfiguration.Layer,
    _ input: Tensor,
    _ weights: LayerWeights
  ) {
    guard let source = sources[layer.source] else { return }
    let width = c.queryHeads * layer.headSize
    let attended = tracer.scope("self_attn") {
      let query = weights.linear("self_attn.q_proj", input, width)
        .reshaped([input.shape[0], c.queryHeads, layer.headSize])
      let turned = weights.norm("self_attn.q_norm", query).rotated(by: table(layer))
      let heads = turned.attention(
        past: (source.pastKeys, source.pastValues),
        new: (source.newKeys, source.newValues),
        queryPosition: queryPosition,
        position: position,
        blocks: layer.isSliding ? blocks : nil,
        window: layer.isSliding ? c.slidingWindow : nil
      )
      return weights.linear(
        "self_attn.o_proj",
        heads.reshaped([input.shape[0], width]),
        c.hiddenSize
      )
    }
    hidden = hidden + weights.norm("post_attention_layernorm", attended)
  }

  private mutating func feedForward(
    _ layer: TextConfiguration.Layer,
    _ weights: LayerWeights
  ) {
    let input = weights.norm("pre_feedforward_layernorm", hidden)
    let output = tracer.scope("mlp") {
      let gate = weights.linear("mlp.gate_proj", input, layer.intermediateSize).gelu()
      let up = weights.linear("mlp.up_proj", input, layer.intermediateSize)
      return weights.linear("mlp.down_proj", gate * up, c.hiddenSize)
    }
    hidden = hidden + weights.norm("post_feedforward_layernorm", output)
  }

  private mutating func addPerLayer(_ index: Int, _ weights: LayerWeights) {
    guard let perLayer else { return }
    let output = tracer.scope("per_layer") {
      let own = perLayer.sliced(axis: 1, start: index * c.perLayerSize, count: c.perLayerSize)
      let gated = weights.linear("per_layer_input_gate", hidden, c.perLayerSize).gelu() * own
      return weights.linear("per_layer_projection", gated, c.hiddenSize)
    }
    hidden = hidden + weights.norm("post_per_layer_input_norm", output)
  }

  private func finish() {
    let stopsEarly =
      shape.rows == .none && shape.narrows && shape.layers.upperBound >= c.firstSharedLayer
    if !stopsEarly {
      if shape.includesHead {
        let onlyLast = shape.rows == .last && !shape.narrows && shape.tokens > 1
        let last = onlyLast ? tracer.input("last", TensorType(.i32, [1])) : nil
        tracer.output("logits", decoder.head(last.map { hidden.gathered($0) } ?? hidden, tracer))
      } else {
        tracer.output("hiddenOut", hidden)
      }
    }
    for (index, source) in sources.sorted(by: { $0.key < $1.key }) {
      source.declareOutputs(index, tracer: tracer, shape: shape, configuration: c)
    }
  }
}
