import Foundation
import Troika

/// One line on a terminal that says how far a request has come; nothing in a pipe.
enum ProgressLine {
  private static let state = LineState()
  /// The variable with what stands before everything that this process shows, for processes that
  /// another one runs.
  static let prefix = "TROIKA_PROGRESS_PREFIX"

  /// Shows a stage in place of the one before.
  static func show(_ progress: RequestProgress) {
    guard Output.isTerminal else { return }
    state.show("\(progress.stage) \(progress.done)/\(progress.total)")
  }

  /// Shows how much of something is done, in place of what was there.
  static func show(_ stage: String, share: Double) {
    guard Output.isTerminal else { return }
    state.show("\(stage) \(Int(share * 100)) %")
  }

  /// Shows words in place of what was there.
  static func show(_ words: String) {
    guard Output.isTerminal else { return }
    state.show(words)
  }

  /// Removes the line.
  static func clear() { state.show("") }
}

/// What stands on the line.
private final class LineState: @unchecked Sendable {
  private let lock = NSLock()
  private let prefix = ProcessInfo.processInfo.environment[ProgressLine.prefix] ?? ""
  private var width = 0

  func show(_ words: String) {
    lock.lock()
    defer { lock.unlock() }
    guard width > 0 || !words.isEmpty else { return }
    let text = words.isEmpty ? "" : prefix + words
    let blank = String(repeating: " ", count: max(0, width - text.count))
    _ = Output.send("\r\(text)\(blank)\r", to: STDERR_FILENO)
    width = text.count
  }
}
