import Foundation

/// What goes to standard output and standard error.
enum Output {
  /// Writes text as it is, at once.
  static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  /// Writes one line.
  static func line(_ text: String) { write(text + "\n") }

  /// Writes one line to standard error, named for the program.
  static func error(_ text: String) { note("troika: " + oneLine(text)) }

  /// Writes a warning to standard error.
  static func warning(_ text: String) { note("troika: warning: " + oneLine(text)) }

  /// Writes one line to standard error.
  static func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  /// Whether someone is watching standard error.
  static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}
