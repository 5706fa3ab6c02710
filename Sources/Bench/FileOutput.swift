import Foundation
import Models

/// Files that a command writes.
enum FileOutput {
  /// Refuses a path whose folder cannot take a file, before anything is computed.
  static func check(_ path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard !path.isEmpty else { throw FileOutputError(path: "''", code: ENOENT) }
    guard access(folder, W_OK) == 0 else { throw FileOutputError(path: path, code: errno) }
    var facts = stat()
    if stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
      throw FileOutputError(path: path, code: EISDIR)
    }
  }

  /// Writes a text in one go: the file is whole or not there.
  static func write(_ text: String, to path: String) throws {
    try write(to: path) { try $0.append(text) }
  }

  /// Writes what comes piece by piece: the file is whole or not there.
  ///
  /// What is no file, such as a device, is written to and not replaced.
  static func write(to path: String, _ body: (inout FileSink) throws -> Void) throws {
    var facts = stat()
    let isThere = stat(path, &facts) == 0
    let isPlain = !isThere || facts.st_mode & S_IFMT == S_IFREG
    let target = isPlain ? "\(path).\(getpid()).part" : path
    let flags = isPlain ? O_CREAT | O_EXCL : 0
    var sink = FileSink(open(target, O_WRONLY | O_CLOEXEC | flags, 0o666), path: path)
    do {
      defer { close(sink.file) }
      try body(&sink)
      try sink.flush()
    } catch {
      if isPlain { unlink(target) }
      throw error
    }
    guard isPlain else { return }
    if isThere { chmod(target, facts.st_mode & 0o7777) }
    guard rename(target, path) == 0 else {
      let error = FileOutputError(path: path, code: errno)
      unlink(target)
      throw error
    }
  }
}

/// An open file that takes text in pieces.
struct FileSink {
  fileprivate let file: Int32
  private let path: String
  /// Why it could not be opened.
  private let code: Int32
  private var waiting = ""

  fileprivate init(_ file: Int32, path: String) {
    code = errno
    self.file = file
    self.path = path
  }

  /// Takes a piece; small ones wait for each other.
  mutating func append(_ text: String) throws {
    guard file >= 0 else { throw FileOutputError(path: path, code: code) }
    waiting += text
    if waiting.utf8.count >= 1 << 16 { try flush() }
  }

  /// Writes what has waited.
  fileprivate mutating func flush() throws {
    guard file >= 0 else { throw FileOutputError(path: path, code: code) }
    guard Output.send(waiting, to: file) else { throw FileOutputError(path: path, code: errno) }
    waiting = ""
  }
}

/// A file that cannot be written.
struct FileOutputError: Error, CustomStringConvertible {
  let path: String
  /// What the system said, as `errno` has it.
  let code: Int32

  var description: String {
    "\(path): expected a file that can be written, came '\(String(cString: strerror(code)))'"
  }
}
