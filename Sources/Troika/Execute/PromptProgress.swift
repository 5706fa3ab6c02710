import Graph

/// Says how far a prompt has come, and whether its tasks go on.
///
/// Asked by one thread at a time.
final class PromptProgress: @unchecked Sendable {
  private let callbacks: GenerationCallbacks
  private let stages: [PromptRun.Stage]
  private let isHost: [Bool]
  /// Positions before the batch that begins with a task.
  private var begins: [Int: Int] = [:]
  private let encodings: Int
  private let positions: Int
  private var encoded = 0

  init(_ run: PromptRun, _ callbacks: GenerationCallbacks) {
    self.callbacks = callbacks
    stages = run.stages
    isHost = run.graph.tasks.map { $0.kind == .host }
    encodings = run.encodingCount
    let start = run.steps.first?.step.positions.lowerBound ?? 0
    positions = (run.steps.last?.step.positions.upperBound ?? 0) - start
    for (step, first) in zip(run.steps.map(\.step), run.firstChunks) {
      begins[first] = step.positions.lowerBound - start
    }
  }

  /// Whether a task may begin: the caller has not cancelled.
  func goesOn(to task: Int) -> Bool {
    if stages[task] == .encode, !isHost[task] {
      callbacks.progress(RequestProgress(stage: "encode", done: encoded, total: encodings))
      encoded += 1
    }
    if let done = begins[task] {
      callbacks.progress(RequestProgress(stage: "prefill", done: done, total: positions))
    }
    return !callbacks.isCancelled()
  }
}
