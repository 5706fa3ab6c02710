import Graph

/// One layer of the audio tower: half a feed-forward block, local attention, light convolution,
/// half a feed-forward block.
struct ConformerLayer {
  let tower: AudioTower
  let index: Int
  let tracer: Tracer

  private var c: AudioConfiguration { tower.configuration }
  private var name: String { tower.tower + "layers.\(index)." }
  private var weights: LayerWeights {
    LayerWeights(prefix: name, tracer: tracer, epsilon: c.epsilon)
  }

  func callAsFunction(_ input: Tensor, _ distances: Tensor, _ count: Tensor) -> Tensor {
    var hidden = feedForward("feed_forward1", input)
    let attended = attend(weights.norm("norm_pre_attn", hidden), distances, count)
    hidden = hidden + weights.norm("norm_post_attn", attended)
    hidden = convolve(hidden)
    return weights.norm("norm_out", feedForward("feed_forward2", hidden))
  }

  private func linear(_ part: String, _ input: Tensor, _ width: Int) -> Tensor {
    input.clippedLinear(name + part, width, clips: tower.clips, tracer: tracer)
  }

  private func feedForward(_ part: String, _ input: Tensor) -> Tensor {
    tracer.scope(part) {
      let normed = weights.norm("\(part).pre_layer_norm", input)
      let inner = linear("\(part).ffw_layer_1", normed, 4 * c.hiddenSize).silu()
      let output = linear("\(part).ffw_layer_2", inner, c.hiddenSize)
      return input + weights.norm("\(part).post_layer_norm", output) * c.residualWeight
    }
  }

  private func attend(_ input: Tensor, _ distances: Tensor, _ count: Tensor) -> Tensor {
    tracer.scope("self_attn") {
      let heads: Shape = [input.shape[0], c.heads, c.headSize]
      let log2 = logarithm(2)
      let perDimension = tracer.weight(name + "self_attn.per_dim_scale", [c.headSize])
        .cast(.f32).softplus()
      let queryScale = Float(1 / (Double(c.headSize).squareRoot() * log2))
      let keyScale = Float(logarithm(1 + naturalExponential(1)) / log2)
      let query =
        linear("self_attn.q_proj", input, c.hiddenSize).reshaped(heads)
        * queryScale * perDimension
      let keys = linear("self_attn.k_proj", input, c.hiddenSize).reshaped(heads) * keyScale
      let values = linear("self_attn.v_proj", input, c.hiddenSize).reshaped(heads)
      let relative = weights.linear("self_attn.relative_k_proj", distances, c.hiddenSize)
        .reshaped([c.window + 1, c.heads, c.headSize])
      let mixed = query.attention(
        banded: keys,
        values,
        relative: relative,
        count: count,
        window: c.window,
        softcap: c.scoreSoftcap
      )
      return linear("self_attn.post", mixed.reshaped(input.shape), c.hiddenSize)
    }
  }

  private func convolve(_ input: Tensor) -> Tensor {
    tracer.scope("lconv1d") {
      let normed = weights.norm("lconv1d.pre_layer_norm", input)
      let both = linear("lconv1d.linear_start", normed, 2 * c.hiddenSize)
      let signal = both.sliced(axis: 1, start: 0, count: c.hiddenSize)
      let gate = both.sliced(axis: 1, start: c.hiddenSize, count: c.hiddenSize)
      let kernel = tracer.weight(
        name + "lconv1d.depthwise_conv1d.weight",
        [c.hiddenSize, 1, c.kernelSize]
      )
      let mixed = (signal * gate.sigmoid()).causalDepthwiseConv(kernel)
      let active = weights.norm("lconv1d.conv_norm", mixed).silu()
      return input + linear("lconv1d.linear_end", active, c.hiddenSize)
    }
  }
}
