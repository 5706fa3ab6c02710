public import Graph

/// The programs of one Gemma 4 checkpoint.
public struct Gemma4: Sendable {
  /// What `config.json` says.
  public let configuration: Gemma4Configuration
  /// The decoder.
  public let text: TextDecoder
  /// The vision tower, where the checkpoint has one.
  public let vision: VisionTower?
  /// The audio tower, where the checkpoint has one.
  public let audio: AudioTower?

  /// Programs over the tensors of a weight source.
  ///
  /// - Throws: where a clip bound is absent or not a number.
  public init(_ configuration: Gemma4Configuration, over source: any WeightSource) throws {
    self.configuration = configuration
    text = TextDecoder(configuration.text)
    let width = configuration.text.hiddenSize
    vision = try configuration.vision.map { vision in
      let names = vision.clippedProjections(prefix: "model.vision_tower.")
      return VisionTower(
        vision,
        clips: try source.clips(vision.clipsLinears ? names : []),
        outputSize: width
      )
    }
    audio = try configuration.audio.map { audio in
      let names = audio.clippedProjections(prefix: "model.audio_tower.")
      return AudioTower(
        audio,
        clips: try source.clips(audio.clipsLinears ? names : []),
        outputSize: width
      )
    }
  }
}

extension WeightSource {
  /// The clip bounds of projections by name.
  ///
  /// - Throws: where a bound is absent or not a number.
  func clips(_ names: [String]) throws -> ClipTable {
    var table: ClipTable = [:]
    for name in names {
      table[name] = ClipBounds(
        input: try range(name + ".input_min", name + ".input_max"),
        output: try range(name + ".output_min", name + ".output_max")
      )
    }
    return table
  }

  private func range(_ lower: String, _ upper: String) throws -> ClosedRange<Float> {
    let bounds = (try scalar(of: lower), try scalar(of: upper))
    guard bounds.0 <= bounds.1 else {
      throw CheckpointError.tensor(
        file: "checkpoint",
        name: lower,
        expected: "at most \(bounds.1)",
        came: "\(bounds.0)"
      )
    }
    return bounds.0...bounds.1
  }
}

extension VisionConfiguration {
  /// Names of the projections that clamp.
  func clippedProjections(prefix: String) -> [String] {
    let parts =
      ["q_proj", "k_proj", "v_proj", "o_proj"].map { "self_attn." + $0 }
      + ["gate_proj", "up_proj", "down_proj"].map { "mlp." + $0 }
    return (0..<layerCount).flatMap { layer in
      parts.map { "\(prefix)encoder.layers.\(layer).\($0)" }
    }
  }
}

extension AudioConfiguration {
  /// Names of the projections that clamp.
  func clippedProjections(prefix: String) -> [String] {
    let parts =
      ["feed_forward1", "feed_forward2"].flatMap { ["\($0).ffw_layer_1", "\($0).ffw_layer_2"] }
      + ["q_proj", "k_proj", "v_proj", "post"].map { "self_attn." + $0 }
      + ["lconv1d.linear_start", "lconv1d.linear_end"]
    return (0..<layerCount).flatMap { layer in
      parts.map { "\(prefix)layers.\(layer).\($0)" }
    }
  }
}
