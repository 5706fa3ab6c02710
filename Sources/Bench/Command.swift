/// One subcommand of `troika`.
protocol Command {
  /// What it is called.
  static var name: String { get }
  /// What it does, in one line.
  static var summary: String { get }
  /// Its options and an example, as `--help` prints them.
  static var help: String { get }
  /// Reads the words after its name and runs it.
  ///
  /// - Returns: the process's exit code.
  static func start(_ words: [String]) async throws -> ExitCode
}

/// What the process tells its caller.
enum ExitCode: Int32 {
  /// Done.
  case done = 0
  /// A comparison or gate did not hold.
  case failed = 1
  /// The command line is wrong.
  case usage = 64
  /// A file, model, placement, profile or prompt cannot be used.
  case input = 65
  /// A unit or library is not available.
  case unavailable = 69
  /// A fault of this program.
  case fault = 70
  /// Interrupted from the keyboard.
  case interrupted = 130
}

/// A mistake on the command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
