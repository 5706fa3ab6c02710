public import Graph

/// The vision encoder: patches in, soft tokens of the decoder's width out.
///
/// Patches come in blocks of `k × k` neighbours, so that pooling is a mean over consecutive rows;
/// attention does not see the order, positions are given with each patch.
/// Axis letters: `N` patches, `D` width of the tower, `H` heads, `E` head width.
public struct VisionTower: Sendable {
  /// Sizes and switches.
  public let configuration: VisionConfiguration
  /// Clip bounds of the projections.
  public let clips: ClipTable
  /// Width of the decoder's stream.
  public let outputSize: Int
  /// Where the tower's tensors stand in the checkpoint.
  public let prefix: String

  /// A tower from its parts.
  public init(
    _ configuration: VisionConfiguration,
    clips: ClipTable,
    outputSize: Int,
    prefix: String = "model."
  ) {
    self.configuration = configuration
    self.clips = clips
    self.outputSize = outputSize
    self.prefix = prefix
  }

  private var tower: String { prefix + "vision_tower." }

  /// The encoder for `patches` patches.
  ///
  /// Inputs: `pixels [N, 3p²]` f32 in 0…1, `positions [N, 2]` i32 as (x, y), -1 for padding,
  /// `count [1]` i32 of real patches. Output: `features [N / k², outputSize]` f32.
  ///
  /// - Throws: `GraphError` where the checkpoint lacks a tensor or has another shape.
  public func encoder(
    patches: Int,
    over source: any WeightSource,
    taps: Set<String> = []
  ) throws(GraphError) -> Graph {
    let tracer = Tracer("vision", over: source, taps: taps)
    let c = configuration
    tracer.scope("vision") {
      let pixels = tracer.input("pixels", TensorType(.f32, [patches, c.patchValues]))
      let positions = tracer.input("positions", TensorType(.i32, [patches, 2]))
      let count = tracer.input("count", TensorType(.i32, [1]))
      let frequencies = tracer.literal(
        c.frequencies,
        [c.frequencies.count],
        name: "frequencies"
      )
      let table = positions.rotaryTable(frequencies)
      var hidden = embed(pixels, positions, tracer)
      tracer.tap("embed", hidden)
      for index in 0..<c.layerCount {
        hidden = tracer.scope("layers.\(index)") {
          layer(index, hidden, table: table, count: count, tracer)
        }
        tracer.tap("layers.\(index)", hidden)
      }
      tracer.output("features", project(hidden, patches: patches, tracer))
    }
    return try tracer.finish()
  }

  private func embed(_ pixels: Tensor, _ positions: Tensor, _ tracer: Tracer) -> Tensor {
    let c = configuration
    return tracer.scope("embed") {
      let projection = tracer.weight(
        tower + "patch_embedder.input_proj.weight",
        [c.hiddenSize, c.patchValues]
      )
      let table = tracer.weight(
        tower + "patch_embedder.position_embedding_table",
        [2, c.positionCount, c.hiddenSize]
      )
      let projected = pixels.affine(1, -0.5).affine(2).linear(projection)
      return projected + table.gatheredAxes(positions)
    }
  }

  private func layer(
    _ index: Int,
    _ input: Tensor,
    table: Tensor,
    count: Tensor,
    _ tracer: Tracer
  ) -> Tensor {
    let c = configuration
    let name = tower + "encoder.layers.\(index)."
    let weights = LayerWeights(prefix: name, tracer: tracer, epsilon: c.epsilon)
    func linear(_ part: String, _ input: Tensor, _ width: Int) -> Tensor {
      input.clippedLinear(name + part, width, clips: clips, tracer: tracer)
    }
    func heads(_ part: String, _ input: Tensor, _ count: Int) -> Tensor {
      linear("self_attn." + part, input, count * c.headSize)
        .reshaped([input.shape[0], count, c.headSize])
    }
    var hidden = input
    let normed = weights.norm("input_layernorm", hidden)
    let attended = tracer.scope("self_attn") {
      let query = weights.norm("self_attn.q_norm", heads("q_proj", normed, c.queryHeads))
        .rotated(by: table, axes: 2)
      let keys = weights.norm("self_attn.k_norm", heads("k_proj", normed, c.keyValueHeads))
        .rotated(by: table, axes: 2)
      let values = heads("v_proj", normed, c.keyValueHeads)
        .rmsNorm(epsilon: c.epsilon, as: "v_norm")
      let mixed = query.attention(over: keys, values, count: count)
      return linear(
        "self_attn.o_proj",
        mixed.reshaped([input.shape[0], c.queryHeads * c.headSize]),
        c.hiddenSize
      )
    }
    hidden = hidden + weights.norm("post_attention_layernorm", attended)
    let middle = weights.norm("pre_feedforward_layernorm", hidden)
    let output = tracer.scope("mlp") {
      let gate = linear("mlp.gate_proj", middle, c.intermediateSize).gelu()
      return linear(
        "mlp.down_proj",
        gate * linear("mlp.up_proj", middle, c.intermediateSize),
        c.hiddenSize
      )
    }
    return hidden + weights.norm("post_feedforward_layernorm", output)
  }

  private func project(_ hidden: Tensor, patches: Int, _ tracer: Tracer) -> Tensor {
    let c = configuration
    return tracer.scope("pool") {
      var pooled = hidden.reshaped([patches / c.patchesPerToken, c.patchesPerToken, c.hiddenSize])
        .reduced(.mean, axis: 1).affine(Float(c.hiddenSize).squareRoot())
      if c.standardizes {
        let bias = tracer.weight(tower + "std_bias", [c.hiddenSize])
        let scale = tracer.weight(tower + "std_scale", [c.hiddenSize])
        pooled = (pooled - bias) * scale
      }
      tracer.tap("pooled", pooled)
      let projection = tracer.weight(
        prefix + "embed_vision.embedding_projection.weight",
        [outputSize, c.hiddenSize]
      )
      return pooled.rmsNorm(epsilon: c.epsilon).linear(projection)
    }
  }
}

extension Tensor {
  /// The sum over axes a of `self[a][ids[:, a]]`, for tables `[A, V, D]` and ids `[N, A]`.
  func gatheredAxes(_ ids: Tensor) -> Tensor {
    let parts = (0..<shape[0]).map { axis in
      let table = sliced(axis: 0, start: axis, count: 1).reshaped([shape[1], shape[2]])
      let column = ids.sliced(axis: 1, start: axis, count: 1).reshaped([ids.shape[0]])
      return table.gathered(column)
    }
    return parts.dropFirst().reduce(parts[0]) { $0 + $1 }
  }
}
