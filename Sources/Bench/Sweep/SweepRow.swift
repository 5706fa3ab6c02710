import Graph
import Models
import Troika

/// Rows of results as documents; see Docs/Sweeps.md.
extension Sweep {
  /// The version of result files.
  static let schema = 1

  /// What tells one experiment from another: rows of both never stand in one file.
  var fingerprint: String {
    let document = JSONValue.object(fields: [
      ("schema", .integer(Self.schema)), ("troika", .string(MachineFacts.version)),
      ("seed", .integer(experiment.seed)), ("repetitions", .integer(experiment.repetitions)),
      ("runs", .integer(experiment.runs)),
      ("threads", experiment.threads.map { .integer($0) } ?? .null),
      ("gpu", experiment.gpu.map { .string($0) } ?? .null),
      ("profiles", .array(experiment.profiles.map { ProfileFile.document($0.profile) })),
      ("requests", .array(models.map { .array($0.shapes.map { .string("\($0)") }) })),
      ("prompts", .array(experiment.requests.map { $0.prompt.map { .string($0) } ?? .null })),
      ("cells", .array(cells.map { .object(fields: fields($0)) })),
      ("files", .array(cells.map { .string("\($0.placement.file.options)") })),
    ])
    let bytes = Array(document.text(.compact, sortingKeys: true).utf8)
    return String(bytes.withUnsafeBytes { SHA256.hex($0) {} }.prefix(32))
  }

  /// The first line of a file of results.
  func header(_ fingerprint: String, rows: Int, shard: Shard) -> JSONValue {
    .object(fields: [
      ("kind", "experiment"), ("schema", .integer(Self.schema)),
      ("troika", .string(MachineFacts.version)), ("name", .string(experiment.name)),
      ("fingerprint", .string(fingerprint)), ("rows", .integer(rows)),
      ("shard", shard.count == 1 ? .null : .string("\(shard)")),
      ("experiment", experiment.document),
    ])
  }

  /// A line of results.
  func row(_ key: Key, _ fingerprint: String, _ result: (String, JSONValue)) -> JSONValue {
    .object(
      fields: [
        ("kind", "row"), ("fingerprint", .string(fingerprint)), ("cell", .integer(key.cell)),
        ("repetition", .integer(key.repetition)),
      ] + fields(cells[key.cell]) + [result]
    )
  }

  /// What a cell is.
  func fields(_ cell: SweepCell) -> [(String, JSONValue)] {
    let model = experiment.models[cell.model]
    func list(_ numbers: [Int]?) -> JSONValue {
      numbers.map { .array($0.map { .integer($0) }) } ?? .null
    }
    return [
      ("model", .string(model.name)),
      ("weights", model.weights.map { .string($0.rawValue) } ?? .null),
      ("request", .string(experiment.requests[cell.request].name)),
      ("chunks", list(cell.chunks)), ("prefill", list(cell.prefill)),
      ("context", cell.context.map { .integer($0) } ?? .null),
      ("placement", .string(cell.placement.name)),
      ("units", .string("\(cell.placement.placement)")),
      ("profile", cell.profile.map { .string(experiment.profiles[$0].name) } ?? .null),
      ("measured", .bool(cell.profile == nil)),
    ]
  }
}

extension PlacementFile {
  /// What it says beside where parts run.
  var options: [String] {
    [
      "\(cuts ?? [])", "\(prefill ?? [])", batches?.rawValue ?? "", sharedLayers?.rawValue ?? "",
      allowsFallback.map { "\($0)" } ?? "", "\(engine)",
    ]
  }
}

/// A part of a sweep's rows that one process makes.
struct Shard: CustomStringConvertible {
  /// Which, from 1.
  var index = 1
  /// Of how many.
  var count = 1

  /// All rows.
  init() {}

  /// Reads `2/8`.
  ///
  /// - Throws: `UsageError`.
  init(parsing text: String) throws {
    let sides = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard sides.count == 2, (1...1_000_000).contains(sides[1]), (1...sides[1]).contains(sides[0])
    else { throw UsageError("--shard: expected 1/N to N/N, got '\(text)'") }
    (index, count) = (sides[0], sides[1])
  }

  var description: String { "\(index)/\(count)" }

  /// Its rows, in the order of all.
  func rows(of order: [Sweep.Key]) -> [Sweep.Key] {
    order.enumerated().filter { $0.offset % count == index - 1 }.map(\.element)
  }
}
