import Models

/// What stands at one position of a session's caches.
enum PromptKey: Hashable {
  case token(Int)
  /// A row of a medium, by what it shows and how its per-layer input is looked up.
  case medium(digest: Int, frame: Int, row: Int, MediaPerLayerInput)

  static func keys(
    of prompt: EncodedPrompt,
    digests: [Medium: Int],
    _ perLayer: MediaPerLayerInput
  ) -> [PromptKey] {
    var keys = prompt.ids.map { PromptKey.token($0) }
    for span in prompt.spans {
      guard let digest = digests[span.medium] else { continue }
      for position in span.range {
        keys[position] = .medium(
          digest: digest,
          frame: span.frame,
          row: position - span.range.lowerBound,
          perLayer
        )
      }
    }
    return keys
  }
}
