/// Why a request cannot be answered.
public enum TroikaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The checkpoint has no tower for a medium.
  case lacksTower(String)
  /// The prompt leaves no room in the context.
  case promptTooLong(tokens: Int, context: Int, detail: String)
  /// There is nothing to answer.
  case emptyPrompt
  /// An option is out of range.
  case option(name: String, expected: String, got: String)
  /// The logits are not numbers.
  case notANumber(step: Int)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .lacksTower(let kind): "model: expected a \(kind) tower, the checkpoint has none"
    case .promptTooLong(let tokens, let context, let detail):
      "prompt: \(tokens) tokens\(detail) and one to generate do not fit a context of \(context)"
    case .emptyPrompt: "prompt: expected text or media, got nothing"
    case .option(let name, let expected, let got): "\(name): expected \(expected), got \(got)"
    case .notANumber(let step):
      "model: expected numbers as logits, came NaN or infinity at generated token \(step)"
    }
  }
}
