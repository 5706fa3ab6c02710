import Foundation
import Graph
import Models
import Troika

/// `troika place run` and `troika place merge`: sweeps over a declared grid.
enum PlaceRunCommand {
  static let help = """
    run: every combination that an experiment's file declares, in an order drawn from its seed, a line
    of results each. Interrupted, the same command goes on where it stopped. merge: the results of
    shards as one file in the order of the grid. Docs/Sweeps.md says what both files hold.

      --out F             the results (results.jsonl, or results.I-of-N.jsonl for a shard)
      --shard I/N         only each N-th row, from the I-th; the shards together are all rows
      --retry             make rows again that failed
      --dry-run           print the rows in their order, make none
    """

  // MARK: - Run

  static func run(_ words: [String]) throws -> ExitCode {
    let arguments = try Arguments(words, valued: ["out", "shard"], switches: ["retry", "dry-run"])
    guard let path = arguments.words.first, arguments.words.count == 1 else {
      throw UsageError("place run: expected one experiment, got \(arguments.words.count)")
    }
    let shard = try arguments["shard"].map { try Shard(parsing: $0) } ?? Shard()
    let standard = shard.count == 1 ? "" : ".\(shard.index)-of-\(shard.count)"
    let out = arguments["out"] ?? "results\(standard).jsonl"
    let sweep = try Sweep(Experiment(path: path))
    let order = sweep.order
    let rows = shard.rows(of: order)
    guard !arguments.has("dry-run") else {
      for key in rows { Output.line(summary(sweep, key)) }
      return .done
    }
    let file = try AppendedFile(path: out)
    let fingerprint = sweep.fingerprint
    let known = try results(in: file, out, fingerprint)
    try file.keep(known.wholeByteCount)
    if known.header == nil {
      try file.append(sweep.header(fingerprint, rows: order.count, shard: shard).text())
    }
    return try make(rows, sweep, fingerprint, known, file, out, retries: arguments.has("retry"))
  }

  /// What a file holds already.
  private static func results(
    in file: AppendedFile,
    _ path: String,
    _ fingerprint: String
  ) throws -> Results {
    let known = try Results(file.contents(), subject: path)
    if let other = known.header?.fingerprint, other != fingerprint {
      throw ExperimentError(
        "\(path): expected results of this experiment (\(fingerprint)), came others (\(other))"
      )
    }
    return known
  }

  private static func make(
    _ rows: [Sweep.Key],
    _ sweep: Sweep,
    _ fingerprint: String,
    _ known: Results,
    _ file: AppendedFile,
    _ path: String,
    retries: Bool
  ) throws -> ExitCode {
    let left = rows.filter { key in known.rows[key].map { retries && $0.isFailed } ?? true }
    let runner = SweepRunner(sweep)
    var failed = rows.count { known.rows[$0]?.isFailed ?? false }
    if retries { failed = 0 }
    let clock = ContinuousClock()
    let start = clock.now
    defer { ProgressLine.clear() }
    for (done, key) in left.enumerated() {
      ProgressLine.show(progress(done, left.count, clock.now - start))
      let (field, isFailed) = runner.outcome(of: sweep.cells[key.cell])
      try file.append(sweep.row(key, fingerprint, field).text())
      failed += isFailed ? 1 : 0
    }
    ProgressLine.clear()
    Output.line("\(path): \(rows.count) rows, \(left.count) new, \(failed) failed")
    return failed == 0 ? .done : .failed
  }

  /// How far a sweep is, and what is left at the pace so far.
  private static func progress(_ done: Int, _ total: Int, _ elapsed: Duration) -> String {
    guard done > 0 else { return "row 1/\(total)" }
    let seconds = Int((elapsed / done * (total - done)).components.seconds)
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
    let words = parts.drop { $0.0 == 0 }.prefix(2).map { "\($0.0) \($0.1)" }
    return "row \(done + 1)/\(total), \(words.isEmpty ? "0 s" : words.joined(separator: " ")) left"
  }

  private static func summary(_ sweep: Sweep, _ key: Sweep.Key) -> String {
    let fields = sweep.fields(sweep.cells[key.cell]).filter { $0.1 != .null && $0.0 != "units" }
    let words = fields.map { name, value in "\(name)=\(value.string ?? value.text())" }
    return "\(key.cell).\(key.repetition) " + words.joined(separator: " ")
  }

  // MARK: - Merge

  static func merge(_ words: [String]) throws -> ExitCode {
    let arguments = try Arguments(words, valued: ["out"])
    guard !arguments.words.isEmpty else {
      throw UsageError("place merge: expected files of results, got none")
    }
    let out = try arguments.required("out")
    let merged = try MergedResults(arguments.words)
    try FileOutput.write(merged.text, to: out)
    let missing = merged.header.rows - merged.rows.count
    let failed = merged.rows.values.count { $0.isFailed }
    Output.line("\(out): \(merged.rows.count) of \(merged.header.rows) rows, \(failed) failed")
    guard missing > 0 else { return .done }
    Output.error("\(out): expected \(merged.header.rows) rows, came \(merged.rows.count)")
    return .failed
  }
}

/// The rows of several files of one experiment.
struct MergedResults {
  let header: Results.Header
  private(set) var rows: [Sweep.Key: Results.Row] = [:]

  /// Reads files.
  ///
  /// - Throws: where one holds no results, or those of another experiment.
  init(_ paths: [String]) throws {
    let files = try paths.map { try Results(path: $0) }
    let (first, header) = try Self.header(files)
    self.header = header
    for file in files {
      guard let other = file.header else { continue }
      guard other.fingerprint == header.fingerprint else {
        throw ExperimentError(
          "\(file.subject): expected the experiment of \(first) (\(header.fingerprint)), came "
            + "another (\(other.fingerprint))"
        )
      }
      for row in file.rows.values { try add(row, file.subject) }
    }
  }

  private static func header(_ files: [Results]) throws -> (String, Results.Header) {
    for file in files {
      if let header = file.header { return (file.subject, header) }
    }
    throw ExperimentError("\(files[0].subject): expected results, came none")
  }

  /// A result counts for more than a failure; the first of two that are measured is kept.
  private mutating func add(_ row: Results.Row, _ subject: String) throws {
    guard let known = rows[row.key], !known.isFailed else {
      rows[row.key] = row
      return
    }
    guard row.isFailed || row.isMeasured || row.value == known.value else {
      throw ExperimentError(
        "\(subject): expected the same row \(row.key.cell) as in the files before it, came another"
      )
    }
  }

  /// One file: the first line without a shard, the rows in the order of the grid.
  var text: String {
    var first = header.value.object ?? JSONObject()
    first["shard"] = .null
    let lines =
      [JSONValue.object(first).text()]
      + rows.values.sorted { $0.key < $1.key }.map { $0.value.text() }
    return lines.joined(separator: "\n") + "\n"
  }
}
