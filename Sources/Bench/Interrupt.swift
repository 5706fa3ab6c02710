import Dispatch
import Foundation

/// Signals as requests to stop: Ctrl-C, and others where asked for.
final class Interrupt: @unchecked Sendable {
  private let sources: [any DispatchSourceSignal]
  private let limit: Int?
  private let lock = NSLock()
  private var count = 0

  /// - Parameters:
  ///   - limit: how often it may be asked before the process ends; nil for ever.
  ///   - signals: what counts as asking.
  init(limit: Int? = nil, signals: [Int32] = [SIGINT]) {
    self.limit = limit
    sources = signals.map { number in
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global())
    }
  }

  /// Whether anyone has asked since `onSignal`.
  var isAsked: Bool {
    lock.lock()
    defer { lock.unlock() }
    return count > 0
  }

  /// Calls `body` on every signal from now on.
  func onSignal(_ body: @escaping @Sendable () -> Void = {}) {
    for source in sources {
      source.setEventHandler { [weak self] in
        self?.ask()
        body()
      }
      source.resume()
    }
  }

  private func ask() {
    lock.lock()
    count += 1
    let isOver = limit.map { count > $0 } ?? false
    lock.unlock()
    if isOver { exit(ExitCode.interrupted.rawValue) }
  }

  deinit { for source in sources { source.cancel() } }
}
