import Devices
import Foundation
import Models
import Troika

/// `troika bench` run by several processes of its own, one after the other.
struct BenchProcesses {
  /// A process that ended without a report; it has said why.
  struct Ended: Error {
    let code: ExitCode
  }

  /// Options that are about what becomes of the report, or that each process has values of its own for.
  private static let own: Set = [
    "processes", "repeat", "seconds", "fewest", "output", "json", "save", "baseline", "threshold",
    "count-disturbed",
  ]

  private let words: [String]
  private let count: Int
  private let options: Benchmark.Options

  /// Processes for a command line of `bench`; no more of them than samples of a stage.
  init(_ arguments: Arguments, count: Int, _ options: Benchmark.Options) {
    self.count = min(count, options.repeats)
    self.options = options
    words =
      arguments.options.filter { !Self.own.contains($0.name) }.map { "--\($0.name)=\($0.value)" }
      + arguments.switches.subtracting(Self.own).sorted().map { "--\($0)" }
  }

  /// Runs them.
  ///
  /// - Throws: `Ended` where one of them fails or is interrupted, and what keeps them from starting.
  func run() throws -> BenchReport {
    let begin = MonotonicClock.nanoseconds
    let child = Child()
    let interrupt = Interrupt(signals: [SIGINT, SIGTERM])
    interrupt.onSignal { child.stop() }
    let reports = try (0..<count).map { try report($0, child) }
    guard !interrupt.isAsked else { throw Ended(code: .interrupted) }
    return BenchReport(
      joining: reports,
      wallNanoseconds: MonotonicClock.nanoseconds - begin
    )
  }

  /// The report of one process.
  private func report(_ index: Int, _ child: Child) throws -> BenchReport {
    let samples = (index + 1) * options.repeats / count - index * options.repeats / count
    let shares = [
      "--processes=1", "--repeat=\(samples)",
      "--seconds=\(options.secondsPerStage / Double(count))",
      "--fewest=\(max(options.fewest / count, 1))", "--json",
    ]
    let subject = "process \(index + 1) of \(count)"
    let output = try child.output(["bench"] + words + shares, named: subject)
    let value = try output.withUnsafeBytes { try JSONValue(parsing: $0, subject: subject) }
    return try BenchReport(JSONNode(value, subject: subject))
  }
}

/// This program once more, as a process beside this one.
private final class Child: @unchecked Sendable {
  private let lock = NSLock()
  private var process: Process?
  private var isStopped = false

  /// Runs it with words; its errors and its progress are shown as they come.
  ///
  /// - Returns: what it printed.
  /// - Throws: `Ended` where its exit code is not 0.
  func output(_ words: [String], named name: String) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment
      .merging([ProgressLine.prefix: "\(name): "]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    // Open as long as this process lives: its end is the other's too.
    let life = Pipe()
    process.standardInput = life
    do {
      try start(process)
    } catch  where !hasStopped {
      Output.error("\(name): expected it to start, came '\(error.localizedDescription)'")
      throw BenchProcesses.Ended(code: .fault)
    }
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    withExtendedLifetime(life) {}
    if hasStopped { throw BenchProcesses.Ended(code: .interrupted) }
    guard process.terminationReason == .exit else {
      Output.error("\(name): expected a report, came signal \(process.terminationStatus)")
      throw BenchProcesses.Ended(code: .fault)
    }
    guard process.terminationStatus == 0 else {
      throw BenchProcesses.Ended(code: ExitCode(rawValue: process.terminationStatus) ?? .fault)
    }
    return output
  }

  /// Asks the process that runs now to end; none begins any more.
  func stop() {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    if process?.isRunning == true { process?.terminate() }
  }

  private var hasStopped: Bool {
    lock.lock()
    defer { lock.unlock() }
    return isStopped
  }

  private func start(_ process: Process) throws {
    lock.lock()
    defer { lock.unlock() }
    guard !isStopped else { throw BenchProcesses.Ended(code: .interrupted) }
    try process.run()
    self.process = process
  }
}
