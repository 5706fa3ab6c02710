import Models

/// Greedy choices along golden ids.
///
/// In f32 every choice has to be the golden one. In fp16 the golden ids are forced; another choice
/// holds only where the f32 gap between the two tokens is at most twice that step's largest logit
/// error.
struct GreedyComparison {
  let golden: [Int]
  let isExact: Bool
  private(set) var step = 0
  private(set) var notes: [String] = []
  private(set) var holds = true

  init(golden: [Int], isExact: Bool) {
    self.golden = golden
    self.isExact = isExact
  }

  /// Adds a step's logits and, for fp16, the f32 logits of the same step.
  ///
  /// - Returns: whether to go on.
  mutating func add(_ logits: [Float], _ reference: [Float]) throws -> Bool {
    defer { step += 1 }
    guard step < golden.count else { return false }
    let choice = try logits.withUnsafeBufferPointer { try Sampler.greedy($0) }
    let wanted = golden[step]
    guard choice != wanted else { return true }
    if isExact {
      holds = false
      let gap = logits[choice] - logits[wanted]
      notes.append("token \(step): expected \(wanted), got \(choice), logit gap \(gap)")
      return false
    }
    let error = zip(logits, reference).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
    let gap = abs(reference[wanted] - reference[choice])
    if gap > 2 * error { holds = false }
    notes.append(
      "token \(step): \(choice) for \(wanted), f32 gap \(gap), largest error \(error)"
    )
    return true
  }

  func check(_ stage: String, _ name: String) -> Check {
    Check(
      stage: stage,
      name: name,
      tolerance: isExact ? "equal" : "gap at most 2 x error",
      holds: holds,
      detail: notes.joined(separator: "; ")
    )
  }
}
