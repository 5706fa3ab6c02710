/// How far a request has come, before its first token.
public struct RequestProgress: Hashable, Sendable {
  /// What is running: `decode media`, `encode`, `prefill`.
  public let stage: String
  /// Pieces that are done.
  public let done: Int
  /// Pieces in all.
  public let total: Int

  /// Progress of a stage.
  public init(stage: String, done: Int, total: Int) {
    self.stage = stage
    self.done = done
    self.total = total
  }
}
