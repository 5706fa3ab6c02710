import Foundation

/// Ends a process that another one runs as soon as that one is gone.
enum ParentWatch {
  /// Calls `body` when standard input ends, in processes that `BenchProcesses` has begun: its other end
  /// is open as long as their parent lives.
  static func begin(_ body: @escaping @Sendable () -> Void) {
    guard ProcessInfo.processInfo.environment[ProgressLine.prefix] != nil else { return }
    Thread.detachNewThread {
      var byte: UInt8 = 0
      while true {
        let count = read(STDIN_FILENO, &byte, 1)
        if count == 0 { return body() }
        guard count > 0 || errno == EINTR else { return }
      }
    }
  }
}
