import Graph
import Models
import Troika

/// What a page shows, gathered from files of results.
struct ReportData {
  /// A file.
  struct Source {
    let file: String
    let kind: String
    let about: String
  }

  /// Slices on lanes.
  struct Lanes {
    /// A stretch in which a unit runs something, or has a reason not to.
    struct Slice: Hashable {
      let lane: Int
      let name: String
      let start: Double
      let end: Double
      let isIdle: Bool
    }

    /// A slice that waited for another one's end.
    struct Arrow {
      let from: Slice
      let to: Slice
    }

    let title: String
    let lanes: [String]
    let slices: [Slice]
    let arrows: [Arrow]

    /// The name of a slice's lane.
    func unit(of slice: Slice) -> String {
      lanes.indices.contains(slice.lane) ? lanes[slice.lane] : ""
    }
  }

  /// Launches of a simulated request.
  struct Launches {
    struct Row {
      let program: String
      let unit: String
      let count: Int
      let time: Estimate
    }

    let title: String
    let rows: [Row]
  }

  /// What a placement takes.
  struct Placed {
    /// What placements have to share to be compared.
    let group: String
    let name: String
    let firstToken: Estimate
    let rate: Estimate
    let joules: Double?
    let byteCount: Int
  }

  /// A figure that was predicted and measured.
  struct Pair {
    let name: String
    let figure: String
    let predicted: Estimate
    let measured: Estimate
  }

  /// Something that did not run where it was placed, or not at all.
  struct Exception {
    let file: String
    let what: String
    let unit: String
    let reason: String
    let count: Int
  }

  /// A unit of a plan.
  struct Share {
    let file: String
    let unit: String
    let operations: Int
    let placed: Int
  }

  var sources: [Source] = []
  var lanes: [Lanes] = []
  var benches: [(file: String, report: BenchReport)] = []
  var launches: [Launches] = []
  var placed: [Placed] = []
  var pairs: [Pair] = []
  var exceptions: [Exception] = []
  var shares: [Share] = []
  var machines: [(file: String, machine: String)] = []
  private var sweeps: [String: [Results]] = [:]
  private var fingerprints: [String] = []

  /// Reads files.
  ///
  /// - Throws: where one cannot be read or holds no results.
  init(files: [String]) throws {
    for file in files { try read(file) }
    for fingerprint in fingerprints { try add(sweeps[fingerprint] ?? []) }
  }

  private mutating func read(_ file: String) throws {
    let mapped = try MappedFile(file)
    let bytes = mapped.withBytes { Array($0) }
    let name = mapped.name
    let whole = try? bytes.withUnsafeBytes { try JSONValue(parsing: $0, subject: name) }
    if let whole, whole["kind"] == nil {
      try read(JSONNode(whole, subject: name))
      return
    }
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    let first = try bytes[..<end].withUnsafeBytes { try JSONValue(parsing: $0, subject: name) }
    switch first["kind"]?.string {
    case "experiment":
      let results = try Results(bytes, subject: name)
      let fingerprint = results.header?.fingerprint ?? ""
      if sweeps[fingerprint] == nil { fingerprints.append(fingerprint) }
      sweeps[fingerprint, default: []].append(results)
    case "run": add(try Self.bench(bytes, name), name)
    default: throw Self.unknown(name)
    }
  }

  static func unknown(_ name: String) -> ExperimentError {
    ExperimentError(
      "\(name): expected results of bench, place, simulate, generate or plan, or a trace, came "
        + "something else"
    )
  }

  private mutating func read(_ node: JSONNode) throws {
    let name = node.subject
    let value = node.value
    if value["stages"] != nil {
      add(try BenchReport(node), name)
    } else if value["traceEvents"] != nil {
      try addTrace(node)
    } else if value["timings"] != nil {
      try addResponse(node)
    } else if value["timeToFirstToken"] != nil {
      sources.append(.init(file: name, kind: "simulate", about: ""))
      try addSimulation(node, title: name, group: name)
    } else if value["programs"] != nil, value["fallbacks"] != nil {
      try addPlan(node)
    } else if let entries = value.array, entries.contains(where: { $0["placement"] != nil }) {
      try addComparison(node)
    } else {
      throw Self.unknown(name)
    }
  }

  /// The document of lines.
  private static func bench(_ bytes: [UInt8], _ name: String) throws -> BenchReport {
    var object = JSONObject()
    var stages: [JSONValue] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let value = try line.withUnsafeBytes { try JSONValue(parsing: $0, subject: name) }
      switch value["kind"]?.string {
      case "run": object = value.object ?? object
      case "stage": stages.append(value)
      default: break
      }
    }
    object["stages"] = .array(stages)
    return try BenchReport(JSONNode(.object(object), subject: name))
  }
}
