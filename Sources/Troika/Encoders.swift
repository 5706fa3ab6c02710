import Devices
import Graph
import Media
import Models

/// Which shapes the towers are compiled for.
enum EncoderShapes: Hashable, Sendable {
  /// Exactly what a medium needs; for units that take any shape.
  case exact
  /// The smallest of a few fixed sizes that fits; for units that compile for fixed shapes.
  case bucketed
}

/// What a tower made of a medium.
struct Encoding {
  /// `[tokens, D]`, without the rows of padding behind them.
  let features: Value
  /// All outputs by name, inner values included.
  var outputs: [String: Value] = [:]
  /// What ran when, and what the user should know.
  var report = TaskReport()
}

/// What a tower is given of a medium.
struct EncoderInputs {
  /// The program; nil where there is nothing to encode.
  let key: ProgramStore.Key?
  /// Its inputs by name.
  var values: [String: Value] = [:]
  /// Soft tokens it makes.
  let tokens: Int
}

/// Runs the towers over prepared media.
struct Encoders {
  let store: ProgramStore
  let model: Gemma4
  var visionShapes = EncoderShapes.exact
  var audioShapes = EncoderShapes.exact

  /// Runs the vision tower over a picture or frame.
  func encode(_ image: PreparedImage, taps: Set<String> = []) throws -> Encoding {
    try encode(try inputs(image, taps: taps))
  }

  /// Runs the audio tower over a block of sound.
  func encode(_ audio: PreparedAudio, taps: Set<String> = []) throws -> Encoding {
    try encode(try inputs(audio, taps: taps))
  }

  /// What the vision tower is given of a picture or frame.
  func inputs(_ image: PreparedImage, taps: Set<String> = []) throws -> EncoderInputs {
    guard let vision = model.configuration.vision else { throw TroikaError.lacksTower("vision") }
    let patches = image.patches
    let count = visionShapes == .exact ? patches.count : vision.bucket(patches: patches.count)
    let order = image.blockOrder(kernel: vision.poolingKernel)
    let width = patches.valuesPerPatch
    let pixels = try Value(TensorType(.f32, [count, width]))
    image.write(order: order, to: pixels.pointer.assumingMemoryBound(to: Float.self))
    var positions = [Int32](repeating: -1, count: count * 2)
    for (place, patch) in order.enumerated() {
      positions[place * 2] = patches.positions[patch * 2]
      positions[place * 2 + 1] = patches.positions[patch * 2 + 1]
    }
    return EncoderInputs(
      key: .vision(patches: count, taps: taps),
      values: [
        "pixels": pixels, "positions": try Value(positions, [count, 2]),
        "count": try Value([Int32(patches.count)], [1]),
      ],
      tokens: patches.count / vision.patchesPerToken
    )
  }

  /// What the audio tower is given of a block of sound.
  func inputs(_ audio: PreparedAudio, taps: Set<String> = []) throws -> EncoderInputs {
    guard model.configuration.audio != nil else { throw TroikaError.lacksTower("audio") }
    let mel = audio.mel
    guard mel.softTokenCount > 0 else { return EncoderInputs(key: nil, tokens: 0) }
    let count =
      audioShapes == .exact ? mel.frameCount : AudioConfiguration.bucket(frames: mel.frameCount)
    let bins = mel.values.count / max(mel.frameCount, 1)
    let mask = (0..<count).map { Float($0 < mel.validFrameCount ? 1 : 0) }
    let half = stride(from: 0, to: mask.count, by: 2).map { mask[$0] }
    let padding = [Float](repeating: 0, count: (count - mel.frameCount) * bins)
    let tokens = AudioConfiguration.tokens(frames: mel.validFrameCount)
    return EncoderInputs(
      key: .audio(frames: count, taps: taps),
      values: [
        "mel": try Value(mel.values + padding, [count, bins]),
        "mask": try Value(mask, [mask.count, 1, 1]),
        "halfMask": try Value(half, [half.count, 1, 1]),
        "count": try Value([Int32(tokens)], [1]),
      ],
      tokens: tokens
    )
  }

  /// Runs a tower.
  ///
  /// - Throws: what makes it fail, where no other unit may take its place.
  func encode(_ inputs: EncoderInputs) throws -> Encoding {
    guard let key = inputs.key else { return Encoding(features: try empty()) }
    let request = RunningProgram.Request(key: key, inputs: inputs.values, rows: inputs.tokens)
    let done = try RunningProgram(request, in: store).run()
    let features = try done.outputs["features"]?.rows(0, count: inputs.tokens) ?? empty()
    let report = TaskReport(events: done.events, warnings: done.warnings)
    return Encoding(features: features, outputs: done.outputs, report: report)
  }

  /// Features of nothing.
  private func empty() throws -> Value {
    try Value(TensorType(.f32, [0, model.configuration.text.hiddenSize]))
  }
}

extension PreparedImage {
  /// Writes the values for the encoder, patches in the given order.
  func write(order: [Int], to target: UnsafeMutablePointer<Float>) {
    let table = (0...255).map { level in
      scale == .image ? Float(level) * (1 / 255 as Float) : Float(level) / 255
    }
    let width = patches.valuesPerPatch
    patches.levels.withUnsafeBufferPointer { levels in
      table.withUnsafeBufferPointer { table in
        for (place, patch) in order.enumerated() {
          for index in 0..<width {
            target[place * width + index] = table[Int(levels[patch * width + index])]
          }
        }
      }
    }
  }
}
