import Media
import Models

extension RequestShape {
  /// The lengths of a prompt with its media.
  ///
  /// - Parameters:
  ///   - prompt: ids and spans.
  ///   - media: what the spans stand for.
  ///   - start: positions that are in the caches already.
  ///   - processor: how media were prepared.
  ///   - maxTokens: tokens to generate.
  init(
    _ prompt: EncodedPrompt,
    _ media: [Medium: LoadedMedium],
    from start: Int,
    processor: ProcessorSettings,
    maxTokens: Int
  ) {
    var pieces: [Piece] = []
    var position = start
    for span in prompt.spans where span.range.upperBound > start {
      if span.range.lowerBound > position {
        pieces.append(.text(tokens: span.range.lowerBound - position))
      }
      let tokens = span.range.upperBound - max(position, span.range.lowerBound)
      pieces.append(
        media[span.medium]?.piece(span.frame, tokens: tokens, processor) ?? .text(tokens: tokens)
      )
      position = span.range.upperBound
    }
    if prompt.ids.count > position { pieces.append(.text(tokens: prompt.ids.count - position)) }
    self.init(pieces, maxTokens: maxTokens)
  }
}

extension RequestShape {
  /// The lengths of a request to a model; its media are decoded for that.
  ///
  /// - Throws: where a medium cannot be read.
  public init(_ request: Request, of folder: ModelFolder) throws {
    let loader = MediaLoader(processor: folder.processor)
    let media = try request.media.mapValues { try loader.load($0) }
    var template = folder.template
    template.mediaStyle = request.options.mediaStyle ?? template.mediaStyle
    template.thinking = request.options.thinking
    template.isRaw = request.options.isRaw
    let prompt = try folder.encoder.encode(
      try template.pieces(request.messages),
      extents: media.mapValues(\.extent)
    )
    self.init(
      prompt,
      media,
      from: 0,
      processor: folder.processor,
      maxTokens: request.options.maxTokens
    )
  }
}

extension LoadedMedium {
  /// One frame, block or picture of the medium.
  fileprivate func piece(
    _ frame: Int,
    tokens: Int,
    _ processor: ProcessorSettings
  ) -> RequestShape.Piece {
    switch part {
    case .image(let image): .image(patches: image.patches.count, tokens: tokens)
    case .audio(let blocks):
      .sound(melFrames: blocks[min(frame, blocks.count - 1)].mel.frameCount, tokens: tokens)
    case .frames:
      // A frame's patches follow its tokens, pooled or not.
      .frame(
        patches: tokens * processor.video.poolingKernel * processor.video.poolingKernel
          * (processor.poolsFrames ? 4 : 1),
        tokens: tokens
      )
    }
  }
}
