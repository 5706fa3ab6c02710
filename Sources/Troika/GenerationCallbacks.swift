/// What a running request tells and asks its caller.
struct GenerationCallbacks {
  /// Receives each piece of text as it becomes final.
  let text: (String) -> Void
  /// Hears of each piece of work that may take long, before it starts.
  let progress: (RequestProgress) -> Void
  /// Asked between launches.
  let isCancelled: () -> Bool

  /// Nobody listens and nobody cancels.
  static var silent: GenerationCallbacks {
    GenerationCallbacks(text: { _ in }, progress: { _ in }, isCancelled: { false })
  }
}
