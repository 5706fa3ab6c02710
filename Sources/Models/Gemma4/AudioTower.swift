public import Graph

/// The audio encoder: log-mel frames in, soft tokens of the decoder's width out.
///
/// Axis letters: `F` mel frames, `T` frames after subsampling, `D` width of the tower.
public struct AudioTower: Sendable {
  /// Sizes and switches.
  public let configuration: AudioConfiguration
  /// Clip bounds of the projections.
  public let clips: ClipTable
  /// Width of the decoder's stream.
  public let outputSize: Int
  /// Where the tower's tensors stand in the checkpoint.
  public let prefix: String

  /// A tower from its parts.
  public init(
    _ configuration: AudioConfiguration,
    clips: ClipTable,
    outputSize: Int,
    prefix: String = "model."
  ) {
    self.configuration = configuration
    self.clips = clips
    self.outputSize = outputSize
    self.prefix = prefix
  }

  var tower: String { prefix + "audio_tower." }

  /// The encoder for `frames` mel frames.
  ///
  /// Inputs: `mel [F, M]` f32; `mask [F, 1, 1]` f32, 1 for real frames and 0 for padding;
  /// `halfMask [F/2, 1, 1]`, every second entry of it; `count [1]` i32 of real soft tokens.
  /// Output: `features [T, outputSize]` f32, of which the first `count` rows are real.
  ///
  /// - Throws: `GraphError` where the checkpoint lacks a tensor or has another shape.
  public func encoder(
    frames: Int,
    over source: any WeightSource,
    taps: Set<String> = []
  ) throws(GraphError) -> Graph {
    let tracer = Tracer("audio", over: source, taps: taps)
    let c = configuration
    let half = AudioConfiguration.halved(frames)
    tracer.scope("audio") {
      let mel = tracer.input("mel", TensorType(.f32, [frames, c.melBins]))
      let mask = tracer.input("mask", TensorType(.f32, [frames, 1, 1]))
      let halfMask = tracer.input("halfMask", TensorType(.f32, [half, 1, 1]))
      let count = tracer.input("count", TensorType(.i32, [1]))
      var hidden = subsample(mel, mask, halfMask, tracer)
      tracer.tap("subsampled", hidden)
      let distances = tracer.literal(
        distanceTable(),
        [c.window + 1, c.hiddenSize],
        name: "distances"
      )
      for index in 0..<c.layerCount {
        let layer = ConformerLayer(tower: self, index: index, tracer: tracer)
        hidden = tracer.scope("layers.\(index)") { layer(hidden, distances, count) }
        tracer.tap("layers.\(index)", hidden)
      }
      tracer.output("features", project(hidden, tracer))
    }
    return try tracer.finish()
  }

  /// Two strided convolutions over time and frequency, then a projection of what is left.
  private func subsample(
    _ mel: Tensor,
    _ mask: Tensor,
    _ halfMask: Tensor,
    _ tracer: Tracer
  ) -> Tensor {
    let c = configuration
    let name = tower + "subsample_conv_projection."
    func convolve(_ input: Tensor, _ layer: Int, from channels: Int) -> Tensor {
      let weight = tracer.weight(
        name + "layer\(layer).conv.weight",
        [c.channels[layer], channels, 3, 3]
      )
      let norm = tracer.weight(name + "layer\(layer).norm.weight", [c.channels[layer]])
      return input.conv2D(weight, stride: 2, padding: 1)
        .layerNorm(norm, epsilon: c.epsilon).relu()
    }
    return tracer.scope("subsample") {
      let frames = mel.reshaped([mel.shape[0], c.melBins, 1])
      let first = convolve(frames * mask, 0, from: 1)
      let second = convolve(first * halfMask, 1, from: c.channels[0])
      let width = second.shape[1] * second.shape[2]
      let projection = tracer.weight(name + "input_proj_linear.weight", [c.hiddenSize, width])
      return second.reshaped([second.shape[0], width]).linear(projection)
    }
  }

  /// Sines, then cosines, of the distances 0…window: `[window + 1, D]`.
  private func distanceTable() -> [Float] {
    let half = configuration.hiddenSize / 2
    let step = logarithm(10000) / Double(max(half - 1, 1))
    let rates = (0..<half).map { Float(naturalExponential(-step * Double($0))) }
    return (0...configuration.window).flatMap { distance in
      let angles = rates.map { Float(distance) * $0 }
      return angles.map { Float(sine(Double($0))) } + angles.map { Float(cosine(Double($0))) }
    }
  }

  private func project(_ hidden: Tensor, _ tracer: Tracer) -> Tensor {
    let c = configuration
    return tracer.scope("project") {
      let weight = tracer.weight(tower + "output_proj.weight", [c.outputSize, c.hiddenSize])
      let bias = tracer.weight(tower + "output_proj.bias", [c.outputSize])
      let output = hidden.linear(weight, bias: bias)
      tracer.tap("output", output)
      let projection = tracer.weight(
        prefix + "embed_audio.embedding_projection.weight",
        [outputSize, c.outputSize]
      )
      return output.rmsNorm(epsilon: c.epsilon).linear(projection)
    }
  }
}
