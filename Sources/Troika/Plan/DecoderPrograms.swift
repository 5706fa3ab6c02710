import Graph
import Models

/// Which programs of the decoder a step launches, and in which shapes.
struct DecoderPrograms: Sendable {
  /// One program of a step.
  struct Launch {
    /// The chunk, from 1.
    let chunk: Int
    let shape: TextDecoder.ChunkShape
    /// Whether everything but the last row is given up before it.
    let narrows: Bool
  }

  let text: TextDecoder
  let layout: ChunkLayout
  let placement: Placement
  let sharedLayers: TextDecoder.SharedLayers
  /// Positions of the caches.
  let context: Int
  /// Rows of sliding layers' caches.
  let slidingRows: Int
  let cacheFormat: DType

  /// Programs of a placement.
  ///
  /// - Parameters:
  ///   - store: where they are compiled.
  ///   - text: the decoder.
  ///   - layout: its cuts.
  ///   - placement: where its parts run.
  ///   - context: positions of the caches.
  ///   - batch: tokens of a prefill batch at most.
  ///   - hasFixedShapes: whether any of its units compiles for fixed shapes.
  ///   - sharedLayers: for which positions of a prompt the sharing layers run.
  /// - Throws: where a unit is not available.
  init(
    in store: ProgramStore,
    text: TextDecoder,
    layout: ChunkLayout,
    placement: Placement,
    context: Int,
    batch: Int,
    hasFixedShapes: Bool,
    sharedLayers: TextDecoder.SharedLayers
  ) throws {
    self.text = text
    self.layout = layout
    self.placement = placement
    self.sharedLayers = sharedLayers
    self.context = context
    // Programs of fixed shapes hold the window alone; where any shape will do a batch more lets a
    // conversation step back.
    let slack = hasFixedShapes ? 0 : batch
    slidingRows = min(context, text.configuration.slidingWindow + slack)
    cacheFormat = try store.cacheFormat(chunks: layout.ranges.count)
  }

  /// Whether the head belongs to the last chunk's program.
  func joinsHead(_ phase: Part.Phase) -> Bool {
    placement.joinsHead(toChunk: layout.ranges.count, phase)
  }

  /// The chunks that a step runs, in order.
  func launches(
    tokens: Int,
    wanted: TextDecoder.Rows,
    _ phase: Part.Phase
  ) -> [Launch] {
    let first = text.configuration.firstSharedLayer
    var launches: [Launch] = []
    var isNarrow = false
    for (index, range) in layout.ranges.enumerated() {
      let isShared = range.lowerBound >= first && sharedLayers == .last
      if wanted == .none, isShared { break }
      let narrows = wanted == .last && isShared && !isNarrow && tokens > 1
      isNarrow = isNarrow || narrows
      let shape = shape(
        range,
        tokens: isNarrow ? 1 : tokens,
        rows: isNarrow ? .all : wanted,
        isLast: index == layout.ranges.count - 1 && joinsHead(phase)
      )
      launches.append(Launch(chunk: index + 1, shape: shape, narrows: narrows))
    }
    return launches
  }

  /// All programs of a step whose last row's logits are wanted.
  func keys(tokens: Int, _ phase: Part.Phase) -> [ProgramStore.Key] {
    launches(tokens: tokens, wanted: .last, phase).map {
      .chunk($0.chunk, $0.shape, phase, taps: [])
    } + (joinsHead(phase) ? [] : [.head(rows: 1, phase, taps: [])])
  }

  /// The cache a layer owns, `[R, G, E]`.
  func cacheType(layer: Int) -> TensorType {
    text.cacheType(
      layer: layer,
      in: shape(layout.ranges[0], tokens: 1, rows: .all, isLast: false)
    )
  }

  private func shape(
    _ range: Range<Int>,
    tokens: Int,
    rows: TextDecoder.Rows,
    isLast: Bool
  ) -> TextDecoder.ChunkShape {
    TextDecoder.ChunkShape(
      layers: range,
      tokens: tokens,
      rows: tokens == 1 && rows == .last ? .all : rows,
      sharedLayers: tokens == 1 && rows != .none ? .last : sharedLayers,
      slidingCacheRows: slidingRows,
      fullCacheRows: context,
      cacheType: cacheFormat,
      includesHead: isLast && rows != .none
    )
  }
}
