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

/// An encoding that has been launched.
struct PendingEncoding {
  /// Features `[tokens, D]`, final when the moments have come.
  let features: Value
  /// All outputs by name, inner values included.
  let outputs: [String: Value]
  let moments: [Moment]

  /// Waits for the features.
  func wait() throws -> [Timeline.Event] { try moments.map { try $0.wait() } }

  /// The features, once they are final.
  func waited() throws -> Value {
    _ = try wait()
    return features
  }
}

/// Runs the towers over prepared media.
struct Encoders {
  let store: ProgramStore
  let model: Gemma4
  var visionShapes = EncoderShapes.exact
  var audioShapes = EncoderShapes.exact

  /// Launches the vision tower over a picture or frame.
  func launch(_ image: PreparedImage, taps: Set<String> = []) throws -> PendingEncoding {
    guard let vision = model.configuration.vision else { throw TroikaError.lacksTower("vision") }
    let patches = image.patches
    let count = visionShapes == .exact ? patches.count : vision.bucket(patches: patches.count)
    let program = try store.program(.vision(patches: count, taps: taps))
    let order = image.blockOrder(kernel: vision.poolingKernel)
    let width = patches.valuesPerPatch
    let pixels = try Value(TensorType(.f32, [count, width]))
    image.write(order: order, to: pixels.pointer.assumingMemoryBound(to: Float.self))
    var positions = [Int32](repeating: -1, count: count * 2)
    for (place, patch) in order.enumerated() {
      positions[place * 2] = patches.positions[patch * 2]
      positions[place * 2 + 1] = patches.positions[patch * 2 + 1]
    }
    return try launch(
      program,
      [
        "pixels": pixels, "positions": try Value(positions, [count, 2]),
        "count": try Value([Int32(patches.count)], [1]),
      ],
      tokens: patches.count / vision.patchesPerToken
    )
  }

  /// Launches the audio tower over a block of sound.
  func launch(_ audio: PreparedAudio, taps: Set<String> = []) throws -> PendingEncoding {
    guard model.configuration.audio != nil else { throw TroikaError.lacksTower("audio") }
    let mel = audio.mel
    guard mel.softTokenCount > 0 else {
      let width = model.configuration.text.hiddenSize
      let none = try Value(TensorType(.f32, [0, width]))
      return PendingEncoding(features: none, outputs: [:], moments: [])
    }
    let count =
      audioShapes == .exact ? mel.frameCount : AudioConfiguration.bucket(frames: mel.frameCount)
    let bins = mel.values.count / max(mel.frameCount, 1)
    let program = try store.program(.audio(frames: count, taps: taps))
    let mask = (0..<count).map { Float($0 < mel.validFrameCount ? 1 : 0) }
    let half = stride(from: 0, to: mask.count, by: 2).map { mask[$0] }
    let padding = [Float](repeating: 0, count: (count - mel.frameCount) * bins)
    let tokens = AudioConfiguration.tokens(frames: mel.validFrameCount)
    return try launch(
      program,
      [
        "mel": try Value(mel.values + padding, [count, bins]),
        "mask": try Value(mask, [mask.count, 1, 1]),
        "halfMask": try Value(half, [half.count, 1, 1]),
        "count": try Value([Int32(tokens)], [1]),
      ],
      tokens: tokens
    )
  }

  private func launch(
    _ program: Program,
    _ inputs: [String: Value],
    tokens: Int
  ) throws -> PendingEncoding {
    let outputs = try program.allocateOutputs()
    let moments = try program.launch(inputs.merging(outputs) { _, new in new })
    guard let features = outputs["features"] else {
      throw TroikaError.lacksTower(program.graph.name)
    }
    return PendingEncoding(
      features: features.rows(0, count: tokens),
      outputs: outputs,
      moments: moments
    )
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
