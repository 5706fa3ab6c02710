import Foundation

/// Signals as requests to stop: Ctrl-C, and others where asked for.
final class Interrupt: @unchecked Sendable {
  private let signals: [Int32]
  private let limit: Int?
  private let lock = NSLock()
  private var count = 0

  /// - Parameters:
  ///   - limit: how often it may be asked before the process ends; nil for ever.
  ///   - signals: what counts as asking.
  init(limit: Int? = nil, signals: [Int32] = [SIGINT]) {
    self.signals = signals
    self.limit = limit
  }

  /// Whether anyone has asked since `onSignal`.
  var isAsked: Bool {
    lock.lock()
    defer { lock.unlock() }
    return count > 0
  }

  /// Calls `body` on every signal from now on, on a thread of its own; at most one may be waiting so in
  /// a process.
  ///
  /// A signal ends the process until this has returned and counts afterwards: none is lost.
  func onSignal(_ body: @escaping @Sendable () -> Void = {}) {
    let pipe = SignalPipe.shared
    Thread.detachNewThread { [weak self] in
      while pipe.wait() {
        self?.ask()
        body()
      }
    }
    for number in signals {
      signal(number) { _ in SignalPipe.shared.wake() }
    }
  }

  private func ask() {
    lock.lock()
    count += 1
    let isOver = limit.map { count > $0 } ?? false
    lock.unlock()
    if isOver { exit(ExitCode.interrupted.rawValue) }
  }
}

/// The way from a signal's handler, which may do next to nothing, to a thread.
private struct SignalPipe: Sendable {
  static let shared = SignalPipe()

  private let reading: Int32
  private let writing: Int32

  private init() {
    var ends: [Int32] = [-1, -1]
    _ = pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (ends[0], ends[1])
  }

  /// Lets one `wait` return.
  func wake() {
    let kept = errno
    var byte: UInt8 = 1
    _ = write(writing, &byte, 1)
    errno = kept
  }

  /// Waits for a `wake`; false where that can never come.
  func wait() -> Bool {
    var byte: UInt8 = 0
    while true {
      if read(reading, &byte, 1) == 1 { return true }
      guard errno == EINTR else { return false }
    }
  }
}
