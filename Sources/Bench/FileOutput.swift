import Foundation
import Models

/// Files that a command writes.
enum FileOutput {
  /// Refuses a path whose folder cannot take a file, before anything is computed.
  static func check(_ path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw FileOutputError(path: path)
    }
  }

  /// Writes a text in one go: the file is whole or not there.
  ///
  /// What is no file, such as a device, is written to and not replaced.
  static func write(_ text: String, to path: String) throws {
    var facts = stat()
    if stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG {
      let file = open(path, O_WRONLY | O_CLOEXEC)
      defer { close(file) }
      guard file >= 0, Output.send(text, to: file) else { throw FileOutputError(path: path) }
      return
    }
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw FileOutputError(path: path)
    }
  }
}

/// A file that cannot be written.
struct FileOutputError: Error, CustomStringConvertible {
  let path: String

  var description: String { "\(path): expected a file that can be written" }
}
