/// What a bundle holds: `manifest.json`.
public struct BundleManifest: Hashable, Sendable {
  /// The only version there is.
  public static let version = 1
  static let format = "troika-bundle"
  static let fileName = "manifest.json"

  /// One file of the bundle.
  public struct File: Hashable, Sendable {
    /// Its path inside the bundle.
    public let path: String
    /// Its size.
    public let byteCount: Int
    /// Its SHA-256 digest in hexadecimal.
    public let digest: String

    /// Whether it holds weights, whose digest is only checked when asked for.
    public var isWeights: Bool { path.hasPrefix(BundleManifest.weightsFolder + "/") }
  }

  /// One program that the bundle was made for.
  public struct Program: Hashable, Sendable {
    /// Its name in traces: `chunk1.decode`, `chunk2.prefill512`, `vision2520`, `audio1000`.
    public let name: String
    /// Operations as traced.
    public let operationCount: Int
    /// Bytes of the weights it reads whole, of which programs of one chunk share one copy.
    public let weightByteCount: Int
  }

  static let weightsFolder = "weights"

  /// How the decoder's matrices are stored.
  public var weights: WeightFormat
  /// Exclusive ends of the decoder's programs.
  public var chunks: [Int]
  /// Tokens of the prefill programs, rising.
  public var prefill: [Int]
  /// Positions of the caches.
  public var context: Int
  /// Newlines around media.
  public var mediaStyle: MediaStyle
  /// What was found wrong with the folder that the bundle was made from.
  public var warnings: [String]
  /// The programs.
  public var programs: [Program]
  /// The files, the manifest itself not counted.
  public var files: [File]

  /// Bytes of all files.
  public var byteCount: Int { files.reduce(0) { $0 + $1.byteCount } }
}

// MARK: - Writing

extension BundleManifest {
  /// The document, its own digest last.
  var text: String {
    let body = JSONValue.object(fields).text(.indented)
    var object = fields
    object["digest"] = .string(SHA256.hex(Array(body.utf8)))
    return JSONValue.object(object).text(.indented) + "\n"
  }

  private var fields: JSONObject {
    var object = JSONObject()
    object["format"] = .string(Self.format)
    object["version"] = .integer(Self.version)
    object["weights"] = .string(weights.rawValue)
    object["chunks"] = .array(chunks.map { .integer($0) })
    object["prefill"] = .array(prefill.map { .integer($0) })
    object["context"] = .integer(context)
    object["mediaStyle"] = .string(mediaStyle.rawValue)
    object["warnings"] = .array(warnings.map { .string($0) })
    object["programs"] = .array(
      programs.map { program in
        var entry = JSONObject()
        entry["name"] = .string(program.name)
        entry["operations"] = .integer(program.operationCount)
        entry["weightBytes"] = .integer(program.weightByteCount)
        return .object(entry)
      }
    )
    object["files"] = .array(
      files.map { file in
        var entry = JSONObject()
        entry["path"] = .string(file.path)
        entry["bytes"] = .integer(file.byteCount)
        entry["sha256"] = .string(file.digest)
        return .object(entry)
      }
    )
    return object
  }
}

// MARK: - Reading

extension BundleManifest {
  private static let keys: Set<String> = [
    "format", "version", "weights", "chunks", "prefill", "context", "mediaStyle", "warnings",
    "programs", "files", "digest",
  ]

  /// Reads a bundle's manifest.
  ///
  /// - Throws: where it is malformed, of another version, or not what its own digest says.
  init(_ root: JSONNode) throws {
    let format = try root.string("format", or: "")
    guard format == Self.format else {
      throw try root.member("format").mismatch("'\(Self.format)'", came: "'\(format.printable)'")
    }
    let version = try root.integer("version")
    guard version == Self.version else {
      throw try root.member("version").mismatch("\(Self.version)", came: "\(version)")
    }
    try root.allowOnly(Self.keys)
    weights = try root.choice("weights")
    mediaStyle = try root.choice("mediaStyle")
    chunks = try root.risingSizes("chunks")
    prefill = try root.risingSizes("prefill")
    context = try root.size("context")
    warnings = try root.strings("warnings")
    programs = try root.elements("programs").map { node in
      try node.allowOnly(["name", "operations", "weightBytes"])
      return Program(
        name: try node.string("name"),
        operationCount: try node.integer("operations"),
        weightByteCount: try node.integer("weightBytes")
      )
    }
    files = try root.elements("files").map(File.init)
    guard Set(files.map(\.path)).count == files.count else {
      throw try root.member("files").mismatch("each path once")
    }
    let digest = try root.string("digest")
    let body = JSONValue.object(fields).text(.indented)
    guard digest == SHA256.hex(Array(body.utf8)) else {
      throw try root.member("digest").mismatch("the digest of the other fields", came: "another")
    }
  }
}

extension BundleManifest.File {
  init(_ node: JSONNode) throws {
    try node.allowOnly(["path", "bytes", "sha256"])
    path = try node.string("path")
    byteCount = try node.integer("bytes")
    digest = try node.string("sha256")
    let isPlain = path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty && part != "." && part != ".." && !part.utf8.contains { $0 < 0x20 }
    }
    guard isPlain else { throw try node.member("path").mismatch("a path inside the bundle") }
    guard byteCount >= 0 else { throw try node.member("bytes").mismatch("a size") }
  }
}

extension JSONNode {
  /// Refuses members that the format does not have: the digest does not cover them.
  fileprivate func allowOnly(_ keys: Set<String>) throws(JSONError) {
    for member in try object().members where !keys.contains(member.key) {
      let place = JSONNode(
        member.value,
        subject: subject,
        path: path.isEmpty ? member.key : path + "." + member.key
      )
      throw place.mismatch("no such field", came: "one")
    }
  }

  /// A text that names a case.
  fileprivate func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String
  ) throws(JSONError) -> Choice where Choice.RawValue == String {
    let text = try string(key)
    guard let value = Choice(rawValue: text) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw try member(key).mismatch("one of \(names)", came: "'\(text.printable)'")
    }
    return value
  }

  /// Sizes above 0, each larger than the one before, at least one.
  fileprivate func risingSizes(_ key: String) throws(JSONError) -> [Int] {
    let numbers = try integers(key)
    guard let last = numbers.last, last <= 1 << 24,
      zip([0] + numbers, numbers).allSatisfy({ $0 < $1 })
    else { throw try member(key).mismatch("rising numbers above 0") }
    return numbers
  }
}
