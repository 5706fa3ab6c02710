import Graph
import Models

/// Which programs of the decoder a step launches.
struct DecoderPrograms {
  let text: TextDecoder
  let layout: ChunkLayout
  let placement: Placement
  let sharedLayers: SharedLayers
  let slidingRows: Int
  let context: Int

  /// The programs of a step whose last row's logits are wanted, in order.
  func keys(tokens: Int, _ phase: Part.Phase) -> [ProgramStore.Key] {
    let first = text.configuration.firstSharedLayer
    let isWhole = sharedLayers == .all || tokens == 1
    let joinsHead =
      placement.unit(of: .head(phase)) == placement.unit(of: .chunk(layout.ranges.count, phase))
    var keys = layout.ranges.enumerated().map { index, range -> ProgramStore.Key in
      let isNarrow = !isWhole && range.lowerBound >= first
      let shape = TextDecoder.ChunkShape(
        layers: range,
        tokens: isNarrow ? 1 : tokens,
        rows: isWhole || isNarrow ? .all : .last,
        slidingCacheRows: slidingRows,
        fullCacheRows: context,
        includesHead: index == layout.ranges.count - 1 && joinsHead
      )
      return .chunk(index + 1, shape, phase, taps: [])
    }
    if !joinsHead { keys.append(.head(rows: isWhole ? tokens : 1, phase, taps: [])) }
    return keys
  }
}
