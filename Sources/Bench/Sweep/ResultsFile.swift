import Foundation
import Models

/// The lines of a file of results that are whole.
struct Results {
  /// A row.
  struct Row {
    let key: Sweep.Key
    let value: JSONValue

    /// Whether it holds why there is no result.
    var isFailed: Bool { value["error"] != nil }

    /// Whether it was measured, so that it would come out different again.
    var isMeasured: Bool { value["measured"] == .bool(true) }
  }

  /// What the first line says.
  struct Header {
    let fingerprint: String
    let rows: Int
    let value: JSONValue
  }

  /// The file, as error messages name it.
  let subject: String
  /// The first line; nil where not even that is whole.
  private(set) var header: Header?
  /// The rows; later ones in place of failed earlier ones.
  private(set) var rows: [Sweep.Key: Row] = [:]
  /// Bytes of whole lines.
  private(set) var wholeByteCount = 0

  private static let beginning = Array(#"{"kind":"experiment""#.utf8)

  /// Reads a file.
  ///
  /// - Throws: `FileError`, `JSONError` or `ExperimentError` where it holds no results.
  init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ExperimentError("\(path): expected a file of results, came none that can be read")
    }
    try self.init(Array(data), subject: path)
  }

  /// Reads lines; a last one that is torn is left out.
  ///
  /// - Throws: `JSONError` or `ExperimentError` where they are no results of this version.
  init(_ bytes: [UInt8], subject: String) throws {
    self.subject = subject
    guard bytes.prefix(Self.beginning.count) == Self.beginning.prefix(bytes.count) else {
      throw ExperimentError("\(subject): expected results of place run, came something else")
    }
    var number = 1
    while let end = bytes[wholeByteCount...].firstIndex(of: UInt8(ascii: "\n")) {
      let line = bytes[wholeByteCount..<end]
      let name = "\(subject) line \(number)"
      let value = try line.withUnsafeBytes { try JSONValue(parsing: $0, subject: name) }
      try add(JSONNode(value, subject: name))
      wholeByteCount = end + 1
      number += 1
    }
  }

  private mutating func add(_ node: JSONNode) throws {
    guard let header else {
      let schema = try node.member("schema")
      guard schema.value == .integer(Sweep.schema) else {
        throw schema.mismatch(
          "\(Sweep.schema), the only one this version reads",
          came: schema.value.text()
        )
      }
      self.header = Header(
        fingerprint: try node.string("fingerprint"),
        rows: try node.integer("rows"),
        value: node.value
      )
      return
    }
    let fingerprint = try node.member("fingerprint")
    guard try fingerprint.string() == header.fingerprint else {
      throw fingerprint.mismatch(header.fingerprint, came: try fingerprint.string())
    }
    let key = Sweep.Key(
      cell: try node.member("cell").count(0...Sweep.most),
      repetition: try node.member("repetition").count(0...Sweep.most)
    )
    guard node.value["result"] != nil || node.value["error"] != nil else {
      throw node.mismatch("a result or an error", came: "neither")
    }
    let row = Row(key: key, value: node.value)
    if let known = rows[key], !known.isFailed {
      throw ExperimentError("\(node.subject): expected each row once, came \(key.cell) again")
    }
    rows[key] = row
  }
}

/// A file that grows by whole lines: each is on the disk before the next is made.
final class AppendedFile {
  private let path: String
  private let file: Int32
  private var byteCount = 0
  private let isRegular: Bool

  /// Opens or makes a file and keeps others from writing to it.
  ///
  /// - Throws: `ExperimentError` or `FileOutputError` where that cannot be.
  init(path: String) throws {
    self.path = path
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw FileOutputError(path: path, code: errno) }
    var facts = stat()
    isRegular = fstat(file, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    byteCount = isRegular ? Int(facts.st_size) : 0
    // File systems that keep no locks leave it to people not to write one file twice.
    guard !isRegular || flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      close(file)
      throw ExperimentError("\(path): expected a file of its own, came one that another run writes")
    }
  }

  deinit { close(file) }

  /// All of it.
  func contents() throws -> [UInt8] {
    guard isRegular else { return [] }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw FileOutputError(path: path, code: errno)
    }
    return Array(data)
  }

  /// Cuts off what is behind some bytes.
  func keep(_ count: Int) throws {
    byteCount = count
    guard isRegular else { return }
    guard ftruncate(file, off_t(count)) == 0, lseek(file, off_t(count), SEEK_SET) >= 0 else {
      throw failure()
    }
  }

  /// Appends a line; where the system refuses, the lines before it stay.
  ///
  /// - Throws: `ExperimentError` with the system's reason.
  func append(_ line: String) throws {
    guard Output.send(line + "\n", to: file) else {
      let failure = failure()
      try? keep(byteCount)
      throw failure
    }
    // What is no file, such as a pipe, cannot be told to be on the disk.
    guard fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP else { throw failure() }
    byteCount += line.utf8.count + 1
  }

  private func failure() -> ExperimentError {
    ExperimentError("\(path): expected to write, came '\(String(cString: strerror(errno)))'")
  }
}
