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
      VisionTower(
        vision,
        clips: try source.clips(vision.clippedProjections),
        outputSize: width
      )
    }
    audio = try configuration.audio.map { audio in
      AudioTower(
        audio,
        clips: try source.clips(audio.clippedProjections),
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
      let bounds = ClipBounds.names(of: name)
      table[name] = ClipBounds(
        input: try range(bounds[0], bounds[1]),
        output: try range(bounds[2], bounds[3])
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
  var clippedProjections: [String] {
    guard clipsLinears else { return [] }
    let parts =
      ["q_proj", "k_proj", "v_proj", "o_proj"].map { "self_attn." + $0 }
      + ["gate_proj", "up_proj", "down_proj"].map { "mlp." + $0 }
    return (0..<layerCount).flatMap { layer in
      parts.map { "model.vision_tower.encoder.layers.\(layer).\($0)" }
    }
  }

  /// Names of the scalars that bound clamped projections.
  var boundNames: [String] { clippedProjections.flatMap(ClipBounds.names) }
}

extension AudioConfiguration {
  /// Names of the projections that clamp.
  var clippedProjections: [String] {
    guard clipsLinears else { return [] }
    let parts =
      ["feed_forward1", "feed_forward2"].flatMap { ["\($0).ffw_layer_1", "\($0).ffw_layer_2"] }
      + ["q_proj", "k_proj", "v_proj", "post"].map { "self_attn." + $0 }
      + ["lconv1d.linear_start", "lconv1d.linear_end"]
    return (0..<layerCount).flatMap { layer in
      parts.map { "model.audio_tower.layers.\(layer).\($0)" }
    }
  }

  /// Names of the scalars that bound clamped projections.
  var boundNames: [String] { clippedProjections.flatMap(ClipBounds.names) }
}

extension ClipBounds {
  /// Names of one projection's bounds.
  static func names(of projection: String) -> [String] {
    ["input_min", "input_max", "output_min", "output_max"].map { projection + "." + $0 }
  }
}
