import Graph
import Media
import Models

/// One program of a stage: a part of a request in one shape.
struct ProgramStage {
  /// The stage: `vision.image1024x768`, `chunk2.decode@512`.
  let name: String
  let key: ProgramStore.Key
  /// Where in the context the step's first row stands.
  var position = 0
  let part: Part
}

/// Which programs a suite's stages are.
struct BenchStages {
  let model: Gemma4
  let processor: ProcessorSettings
  let suite: BenchSuite
  let layout: ChunkLayout
  let context: Int
  /// Tokens of prefill batches, rising.
  let prefill: [Int]
  let sharedLayers: TextDecoder.SharedLayers

  /// The programs of a placement, in the order of a request.
  ///
  /// The head is a program of its own, so that it can be told from the last chunk.
  ///
  /// - Throws: where a unit is not available or a picture's size fits no tower.
  func programs(_ store: ProgramStore) throws -> [ProgramStage] {
    let shapes = try CompiledShapes(
      store.placement,
      layout: layout,
      registry: store.registry,
      prefill: prefill,
      batch: prefill.last ?? 1
    )
    return try vision(shapes.vision) + audio(shapes.audio) + decoder(store, shapes)
  }

  private func vision(_ shapes: EncoderShapes) throws -> [ProgramStage] {
    guard let vision = model.vision?.configuration else { return [] }
    let pictures = suite.images.map { ("image", $0, processor.image) }
    let frames = suite.frames.map { ("frame", $0, processor.video) }
    return try (pictures + frames).map { kind, size, geometry in
      let target = try geometry.target(width: size.width, height: size.height)
      let count =
        (target.width / geometry.patchSize) * (target.height / geometry.patchSize)
      let patches = shapes == .exact ? count : vision.bucket(patches: count)
      return ProgramStage(
        name: "vision.\(kind)\(size.text)",
        key: .vision(patches: patches, taps: []),
        part: .vision
      )
    }
  }

  private func audio(_ shapes: EncoderShapes) -> [ProgramStage] {
    guard model.audio != nil else { return [] }
    return suite.audioSeconds.map { seconds in
      let frames = seconds * 100
      let count = shapes == .exact ? frames : AudioConfiguration.bucket(frames: frames)
      return ProgramStage(
        name: "audio.\(seconds)s",
        key: .audio(frames: count, taps: []),
        part: .audio
      )
    }
  }

  private func decoder(
    _ store: ProgramStore,
    _ shapes: CompiledShapes
  ) throws -> [ProgramStage] {
    let decoder = try DecoderPrograms(
      in: store,
      text: model.text,
      layout: layout,
      placement: store.placement,
      context: context,
      batch: prefill.last ?? 1,
      hasFixedShapes: !shapes.tokens.isEmpty,
      sharedLayers: sharedLayers
    )
    var stages = ([1] + prefill).map { tokens in
      ProgramStage(name: "embed.\(tokens)", key: .embed(tokens: tokens), part: .embed)
    }
    for index in 1...layout.ranges.count {
      for tokens in prefill {
        let launch = decoder.launches(tokens: tokens, wanted: .last, .prefill)[index - 1]
        stages.append(
          ProgramStage(
            name: "chunk\(index).prefill\(tokens)",
            key: .chunk(index, launch.shape, .prefill, taps: []),
            position: launch.shape.tokens == tokens ? 0 : tokens - 1,
            part: .chunk(index, .prefill)
          )
        )
      }
      let step = decoder.launches(tokens: 1, wanted: .last, .decode)[index - 1]
      stages += depths.map { depth in
        ProgramStage(
          name: "chunk\(index).decode@\(depth)",
          key: .chunk(index, step.shape, .decode, taps: []),
          position: depth,
          part: .chunk(index, .decode)
        )
      }
    }
    let head = ProgramStore.Key.head(rows: 1, .decode, taps: [])
    return stages + [ProgramStage(name: "head", key: head, part: .head(.decode))]
  }

  /// Positions that the context has room for.
  private var depths: [Int] {
    let depths = suite.depths.filter { $0 < context }
    return depths.isEmpty ? [context - 1] : depths
  }
}
