import Devices
import Graph
import Models

/// The programs that a machine is measured by: one layer of each kind and runs of several, in a few
/// batches and at a few depths, the head, the gathers and the towers.
struct CalibrationPrograms {
  /// A program at a place in the context.
  struct Entry: Hashable {
    let key: ProgramStore.Key
    let position: Int
    /// Calls that are samples; long programs get fewer.
    let isLong: Bool
  }

  let model: Gemma4
  let context: Int
  /// Tokens of prefill programs.
  let prefill: [Int]

  /// Cuts that leave a layer of each kind alone.
  var layout: ChunkLayout? {
    let text = model.configuration.text
    let count = text.layers.count
    var ends: Set<Int> = [count]
    for layer in kinds { ends.formUnion([layer, layer + 1]) }
    return ChunkLayout(ends: ends.filter { $0 > 0 }.sorted(), layerCount: count)
  }

  /// The first layer, and one of each kind behind it: sliding or full, with caches of its own or not.
  private var kinds: [Int] {
    let text = model.configuration.text
    var seen: Set<[Int]> = []
    return text.layers.indices.filter { index in
      let layer = text.layers[index]
      let kind = [
        layer.isSliding ? 1 : 0, layer.source == index ? 1 : 0, layer.intermediateSize,
        index == 0 ? 1 : 0,
      ]
      return seen.insert(kind).inserted
    }
  }

  /// The entries for a store.
  ///
  /// - Throws: where a unit is not available.
  func entries(_ store: ProgramStore) throws -> [Entry] {
    guard let layout else { return [] }
    let batch = min(prefill.max() ?? 1, context)
    let decoder = try DecoderPrograms(
      in: store,
      text: model.text,
      layout: layout,
      placement: store.placement,
      context: context,
      batch: batch,
      hasFixedShapes: try store.registry.unit(store.placement.base).profile.needsFixedShapes,
      sharedLayers: .last
    )
    return steps(decoder) + batches(decoder, batch) + gathers(batch) + towers
  }

  private func steps(_ decoder: DecoderPrograms) -> [Entry] {
    let depths = [16, min(512, context / 2), context - 2]
    return Set(depths).sorted().flatMap { position in
      decoder.launches(tokens: 1, wanted: .last, .decode).map { launch in
        Entry(
          key: .chunk(launch.chunk, launch.shape, .decode, taps: []),
          position: position,
          isLong: false
        )
      }
    } + [Entry(key: .head(rows: 1, .decode, taps: []), position: 0, isLong: false)]
  }

  private func batches(_ decoder: DecoderPrograms, _ batch: Int) -> [Entry] {
    let counts = Set([16, 64, 256, batch]).filter { $0 <= batch }.sorted()
    return counts.flatMap { count -> [Entry] in
      [0, min(512, context - count)].flatMap { position in
        decoder.launches(tokens: count, wanted: .none, .prefill).filter { launch in
          launch.shape.layers.count < 4
        }.map { launch in
          Entry(
            key: .chunk(launch.chunk, launch.shape, .prefill, taps: []),
            position: position,
            isLong: count > 100
          )
        }
      }
    }
  }

  private func gathers(_ batch: Int) -> [Entry] {
    [1, 64, batch].map { Entry(key: .embed(tokens: $0), position: 0, isLong: false) }
  }

  private var towers: [Entry] {
    var entries: [Entry] = []
    if let vision = model.vision?.configuration {
      let unit = vision.patchesPerToken
      for tokens in Set([16, 64, 256, vision.softTokens]).filter({ $0 <= vision.softTokens }) {
        entries.append(
          Entry(key: .vision(patches: tokens * unit, taps: []), position: 0, isLong: true)
        )
      }
    }
    if model.audio != nil {
      for frames in [100, 200, 500, 1000] {
        entries.append(Entry(key: .audio(frames: frames, taps: []), position: 0, isLong: true))
      }
    }
    return entries.sorted { "\($0.key)" < "\($1.key)" }
  }
}
