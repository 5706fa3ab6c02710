import Devices
import Graph
import Media
import Models

/// Runs the towers over prepared media.
struct Encoders {
  let store: ProgramStore
  let model: Gemma4

  /// Features `[tokens, D]` of a picture or frame, and inner values by name.
  func encode(
    _ image: PreparedImage,
    taps: Set<String> = []
  ) throws -> (features: Value, taps: [String: Value], events: [Timeline.Event]) {
    guard let vision = model.configuration.vision else { throw TroikaError.lacksTower("vision") }
    let patches = image.patches
    let program = try store.program(.vision(patches: patches.count, taps: taps))
    var values = try program.allocateOutputs()
    let order = image.blockOrder(kernel: vision.poolingKernel)
    let width = patches.valuesPerPatch
    let table = (0...255).map { level in
      image.scale == .image ? Float(level) * (1 / 255 as Float) : Float(level) / 255
    }
    var pixels = [Float](repeating: 0, count: patches.count * width)
    var positions = [Int32](repeating: 0, count: patches.count * 2)
    for (place, patch) in order.enumerated() {
      for index in 0..<width {
        pixels[place * width + index] = table[Int(patches.levels[patch * width + index])]
      }
      positions[place * 2] = patches.positions[patch * 2]
      positions[place * 2 + 1] = patches.positions[patch * 2 + 1]
    }
    values["pixels"] = try Value(pixels, [patches.count, width])
    values["positions"] = try Value(positions, [patches.count, 2])
    values["count"] = try Value([Int32(patches.count)], [1])
    let events = try program.run(values)
    guard let features = values["features"] else { throw TroikaError.lacksTower("vision") }
    return (features, values, events)
  }

  /// Features `[tokens, D]` of a block of sound, and inner values by name.
  func encode(
    _ audio: PreparedAudio,
    taps: Set<String> = []
  ) throws -> (features: Value, taps: [String: Value], events: [Timeline.Event]) {
    let mel = audio.mel
    let program = try store.program(.audio(frames: mel.frameCount, taps: taps))
    var values = try program.allocateOutputs()
    let mask = (0..<mel.frameCount).map { Float($0 < mel.validFrameCount ? 1 : 0) }
    let half = stride(from: 0, to: mask.count, by: 2).map { mask[$0] }
    let tokens = AudioConfiguration.tokens(frames: mel.validFrameCount)
    values["mel"] = try Value(mel.values, [mel.frameCount, mel.values.count / mel.frameCount])
    values["mask"] = try Value(mask, [mask.count, 1, 1])
    values["halfMask"] = try Value(half, [half.count, 1, 1])
    values["count"] = try Value([Int32(tokens)], [1])
    let events = try program.run(values)
    guard let features = values["features"] else { throw TroikaError.lacksTower("audio") }
    return (features.rows(0, count: tokens), values, events)
  }
}
