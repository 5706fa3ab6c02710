import Graph

/// Weights of one layer by their checkpoint names.
struct LayerWeights {
  let prefix: String
  let tracer: Tracer
  let epsilon: Float

  func linear(_ name: String, _ input: Tensor, _ width: Int) -> Tensor {
    input.linear(
      tracer.weight(prefix + name + ".weight", [width, input.shape.last]),
      as: name.leaf
    )
  }

  func norm(_ name: String, _ input: Tensor) -> Tensor {
    input.rmsNorm(
      tracer.weight(prefix + name + ".weight", [input.shape.last]),
      epsilon: epsilon,
      as: name.leaf
    )
  }
}

extension String {
  /// What follows the last dot.
  var leaf: String { String(split(separator: ".").last ?? "") }
}

/// Keys and values of one owning layer during a step: the cache before it and the rows it adds.
struct LayerKeysValues {
  let pastKeys: Tensor
  let pastValues: Tensor
  let newKeys: Tensor
  let newValues: Tensor
  /// The caches after the step; nil where another chunk updates them.
  private(set) var updated: (keys: Tensor, values: Tensor)?

  /// Keys and values that this chunk makes.
  init(
    _ index: Int,
    decoder: TextDecoder,
    weights: LayerWeights,
    input: Tensor,
    table: Tensor,
    shape: TextDecoder.ChunkShape,
    position: Tensor,
    count: Tensor
  ) {
    let c = decoder.configuration
    let layer = c.layers[index]
    let tracer = weights.tracer
    let type = decoder.cacheType(layer: index, in: shape)
    pastKeys = tracer.input("layers.\(index).keys", type)
    pastValues = tracer.input("layers.\(index).values", type)
    let width = layer.keyValueHeads * layer.headSize
    let heads: Shape = [shape.tokens, layer.keyValueHeads, layer.headSize]
    (newKeys, newValues) = tracer.scope("self_attn") {
      let keys = weights.linear("self_attn.k_proj", input, width).reshaped(heads)
      let values =
        layer.sharesKeysAsValues
        ? keys : weights.linear("self_attn.v_proj", input, width).reshaped(heads)
      return (
        weights.norm("self_attn.k_norm", keys).rotated(by: table),
        values.rmsNorm(epsilon: c.epsilon, as: "v_norm")
      )
    }
    if !shape.defersUpdates || !c.isRead(index, after: shape.layers.upperBound) {
      update(tracer, position, count)
    }
  }

  private mutating func update(_ tracer: Tracer, _ position: Tensor, _ count: Tensor) {
    updated = tracer.scope("self_attn") { [pastKeys, pastValues, newKeys, newValues] in
      (
        pastKeys.updated(with: newKeys, position: position, count: count),
        pastValues.updated(with: newValues, position: position, count: count)
      )
    }
  }

  /// Keys and values that an earlier chunk made.
  init(
    borrowed index: Int,
    decoder: TextDecoder,
    tracer: Tracer,
    shape: TextDecoder.ChunkShape,
    position: Tensor,
    count: Tensor
  ) {
    let layer = decoder.configuration.layers[index]
    let type = decoder.cacheType(layer: index, in: shape)
    let rows = TensorType(.f32, [shape.tokens, layer.keyValueHeads, layer.headSize])
    pastKeys = tracer.input("layers.\(index).keys", type)
    pastValues = tracer.input("layers.\(index).values", type)
    newKeys = tracer.input("layers.\(index).newKeys", rows)
    newValues = tracer.input("layers.\(index).newValues", rows)
    if shape.defersUpdates,
      !decoder.configuration.isRead(index, after: shape.layers.upperBound)
    {
      update(tracer, position, count)
    }
  }

  /// Names what outlives the chunk.
  func declareOutputs(
    _ index: Int,
    tracer: Tracer,
    shape: TextDecoder.ChunkShape,
    configuration: TextConfiguration
  ) {
    if let updated {
      tracer.output("layers.\(index).keys", updated.keys, isState: true)
      tracer.output("layers.\(index).values", updated.values, isState: true)
    }
    let isOwn = shape.layers.contains(index)
    if isOwn, configuration.isRead(index, after: shape.layers.upperBound) {
      tracer.output("layers.\(index).newKeys", newKeys)
      tracer.output("layers.\(index).newValues", newValues)
    }
  }
}

extension TextConfiguration {
  /// Whether any layer from `end` on reads the keys and values of a layer.
  fileprivate func isRead(_ layer: Int, after end: Int) -> Bool {
    layers[end...].contains { $0.source == layer }
  }
}
