import Devices
import Models

/// How the per-layer input of media positions is looked up.
public enum MediaPerLayerInput: String, Hashable, Sendable, CaseIterable {
  /// The row of the pad token, as the reference implementation does.
  case pad
  /// A row of zeros, as the source document does.
  case zero
}

/// A prompt ready for the decoder, any run of positions at a time.
struct PromptRows {
  let prompt: EncodedPrompt
  /// Features `[tokens, D]` of each span; none where they are put in their places later.
  let features: [Value]
  let padToken: Int
  let mediaPerLayer: MediaPerLayerInput
  private let placeholderSpan: [Int]

  init(
    _ prompt: EncodedPrompt,
    features: [Value] = [],
    padToken: Int,
    mediaPerLayer: MediaPerLayerInput
  ) {
    self.prompt = prompt
    self.features = features
    self.padToken = padToken
    self.mediaPerLayer = mediaPerLayer
    var spans = [Int](repeating: -1, count: prompt.ids.count)
    for (index, span) in prompt.spans.enumerated() {
      for position in span.range { spans[position] = index }
    }
    placeholderSpan = spans
  }

  var count: Int { prompt.ids.count }

  /// The rows of some positions.
  func rows(_ range: Range<Int>) -> DecoderSession.Rows {
    let ids = range.map { Int32(placeholderSpan[$0] < 0 ? prompt.ids[$0] : padToken) }
    let perLayer = range.map { position -> Int32 in
      guard placeholderSpan[position] >= 0 else { return Int32(prompt.ids[position]) }
      return mediaPerLayer == .pad ? Int32(padToken) : -1
    }
    return DecoderSession.Rows(
      ids: ids,
      perLayerIds: perLayer,
      features: features.isEmpty ? [] : placed(features, in: range),
      blocks: range.map(block)
    )
  }

  /// The spans that have rows among some positions.
  func spans(in range: Range<Int>) -> [Int] {
    prompt.spans.indices.filter { prompt.spans[$0].range.overlaps(range) }
  }

  /// Features of spans as rows of a batch.
  ///
  /// - Parameter features: by span; of spans that have no row there nothing is read.
  func placed(_ features: [Value?], in range: Range<Int>) -> [(row: Int, value: Value)] {
    spans(in: range).compactMap { index in
      let span = prompt.spans[index].range
      let part = span.clamped(to: range)
      guard let value = features[index] else { return nil }
      let rows = value.rows(part.lowerBound - span.lowerBound, count: part.count)
      return (part.lowerBound - range.lowerBound, rows)
    }
  }

  /// The run of adjacent image or video placeholders a position belongs to, counted from 1.
  private func block(_ position: Int) -> Int32 {
    let index = placeholderSpan[position]
    guard index >= 0, prompt.spans[index].medium.kind != .audio else { return 0 }
    return Int32(index + 1)
  }

  /// The end of a batch from `start`: at most `limit` positions, and where the model sees whole
  /// media, never inside one.
  func batchEnd(from start: Int, limit: Int, keepsMediaWhole: Bool) -> Int {
    let end = min(start + limit, count)
    guard keepsMediaWhole, end < count, placeholderSpan[end] >= 0,
      placeholderSpan[end - 1] == placeholderSpan[end]
    else { return end }
    let span = prompt.spans[placeholderSpan[end]].range
    return span.lowerBound > start ? span.lowerBound : span.upperBound
  }
}
