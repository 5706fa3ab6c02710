import Foundation

/// What goes to standard output and standard error.
enum Output {
  /// Writes text as it is, at once.
  static func write(_ text: String) {
    guard !send(text, to: STDOUT_FILENO) else { return }
    error("standard output: expected to write, \(String(cString: strerror(errno)))")
    exit(ExitCode.fault.rawValue)
  }

  /// Writes one line.
  static func line(_ text: String) { write(text + "\n") }

  /// Writes one line to standard error, named for the program.
  static func error(_ text: String) { note("troika: " + oneLine(text)) }

  /// Writes a warning to standard error.
  static func warning(_ text: String) { note("troika: warning: " + oneLine(text)) }

  /// Writes one line to standard error.
  static func note(_ text: String) { _ = send(text + "\n", to: STDERR_FILENO) }

  /// Writes all of a text; false where the system refuses.
  static func send(_ text: String, to file: Int32) -> Bool {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count > 0 {
        sent += count
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  /// Whether someone is watching standard error.
  static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}
