import Graph
import Models
import Troika

extension ReportData {
  /// The rows of one experiment, from one file or from several shards.
  mutating func add(_ files: [Results]) throws {
    var rows: [Sweep.Key: Results.Row] = [:]
    for file in files {
      for (key, row) in file.rows where rows[key]?.isFailed ?? true { rows[key] = row }
    }
    guard let first = files.first, let header = first.header else { return }
    let name = header.value["name"]?.string ?? first.subject
    let names = files.map(\.subject).joined(separator: " ")
    sources.append(
      .init(file: names, kind: "place run", about: "\(name), \(rows.count) of \(header.rows) rows")
    )
    var measured: [String: [JSONNode]] = [:]
    var predicted: [(cell: String, profile: String, row: JSONNode)] = []
    for row in rows.values.sorted(by: { $0.key < $1.key }) {
      let node = JSONNode(row.value, subject: first.subject)
      let cell = try Self.cell(node)
      let words = Self.words(cell)
      if row.isFailed {
        exceptions.append(
          .init(
            file: first.subject,
            what: "\(words), \(try node.string("placement"))",
            unit: "",
            reason: try node.string("error"),
            count: 1
          )
        )
        continue
      }
      let placement = try node.string("placement")
      let key = (cell.map { "\($0.0)=\($0.1)" } + [placement]).joined(separator: "\u{1F}")
      if let profile = try node.optional("profile")?.string() {
        let group = "\(name): \(words), simulated on \(profile)"
        placed.append(try Placed(group: group, name: placement, node.member("result")))
        predicted.append((key, profile, node))
      } else {
        measured[key, default: []].append(node)
      }
    }
    try addMeasured(measured, named: name)
    try addPairs(predicted, measured)
  }

  /// What a row is about beside its placement and where it was made.
  private static func cell(_ row: JSONNode) throws -> [(String, String)] {
    try ["model", "weights", "request", "chunks", "prefill", "context"].compactMap { key in
      guard let value = try row.optional(key)?.value else { return nil }
      return (key, value.string ?? value.text())
    }
  }

  private static func words(_ cell: [(String, String)]) -> String {
    cell.map { key, value in
      ["model", "weights", "request"].contains(key) ? value : "\(key) \(value)"
    }.joined(separator: ", ")
  }

  private mutating func addMeasured(_ rows: [String: [JSONNode]], named name: String) throws {
    for (_, nodes) in rows.sorted(by: { $0.key < $1.key }) {
      guard let first = nodes.first else { continue }
      let result = try first.member("result")
      if let machine = result.value["machine"]?.string,
        !machines.contains(where: { $0 == (first.subject, machine) })
      {
        machines.append((first.subject, machine))
      }
      let step = try Self.samples(nodes, "stepSamplesNs")
      placed.append(
        Placed(
          group: "\(name): \(Self.words(try Self.cell(first))), measured",
          name: try first.string("placement"),
          firstToken: try Self.samples(nodes, "firstTokenSamplesNs"),
          rate: step.value > 0
            ? Estimate(1e9 / step.value, low: 1e9 / step.high, high: 1e9 / step.low) : .zero,
          joules: nil,
          byteCount: try result.integer("peakBytes", or: 0)
        )
      )
    }
  }

  /// Samples of all repetitions as one figure.
  private static func samples(_ rows: [JSONNode], _ key: String) throws -> Estimate {
    PlacementMeasurement.Entry.estimate(
      try rows.flatMap { try $0.member("result").elements(key).map { try $0.double() } }
    )
  }

  /// What was predicted for a machine like the one that measured; phones are not among them.
  private mutating func addPairs(
    _ predicted: [(cell: String, profile: String, row: JSONNode)],
    _ measured: [String: [JSONNode]]
  ) throws {
    for (cell, profile, row) in predicted where !KnownProfiles.names.contains(profile) {
      guard let rows = measured[cell] else { continue }
      let result = try row.member("result")
      let name = "\(Self.words(try Self.cell(row))), \(try row.string("placement")) on \(profile)"
      pairs.append(
        Pair(
          name: name,
          figure: "first token",
          predicted: try result.estimate("timeToFirstToken") * 1e9,
          measured: try Self.samples(rows, "firstTokenSamplesNs")
        )
      )
      let step = try Self.samples(rows, "stepSamplesNs")
      guard step.value > 0 else { continue }
      pairs.append(
        Pair(
          name: name,
          figure: "decode step",
          predicted: try result.estimate("decodeStep"),
          measured: step
        )
      )
    }
  }
}
