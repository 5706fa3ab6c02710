import Foundation
import Troika

/// One line on a terminal that says how far a request has come; nothing in a pipe.
enum ProgressLine {
  private static let state = LineState()

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
  private var width = 0

  func show(_ text: String) {
    lock.lock()
    defer { lock.unlock() }
    guard width > 0 || !text.isEmpty else { return }
    let blank = String(repeating: " ", count: max(0, width - text.count))
    _ = Output.send("\r\(text)\(blank)\r", to: STDERR_FILENO)
    width = text.count
  }
}
