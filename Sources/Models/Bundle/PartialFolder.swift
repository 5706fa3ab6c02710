import Glibc

/// A folder that is put together under another name beside its final place.
final class PartialFolder {
  let path: String
  private let final: String
  private let parent: String
  private var folders: [String] = []

  /// Makes the folder; those that processes left which are no more are removed.
  ///
  /// - Throws: where the final path is in use or cannot be written.
  init(final path: String) throws {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed = trimmed.dropLast() }
    let final = String(trimmed)
    var status = stat()
    guard lstat(final, &status) != 0 else { throw BundleError.exists(path: final) }
    guard errno == ENOENT else {
      throw FileError.unwritable(path: final, reason: systemReason())
    }
    let cut = final.lastIndex(of: "/")
    let parent = cut.map { $0 == final.startIndex ? "/" : String(final[..<$0]) } ?? "."
    let name = cut.map { String(final[final.index(after: $0)...]) } ?? final
    self.final = final
    self.parent = parent
    // The hidden name has to fit into 255 bytes where the final one does.
    let stem = name.utf8.count > 200 ? String(SHA256.hex(Array(name.utf8)).prefix(32)) : name
    let prefix = ".\(stem).partial-"
    for other in try MappedFile.names(inFolder: parent) where other.hasPrefix(prefix) {
      let words = other.dropFirst(prefix.count).split(separator: "-")
      guard let owner = words.first.flatMap({ Int32($0) }), !Self.isAlive(owner) else { continue }
      Self.remove(parent + "/" + other)
    }
    // One process may make two bundles of one name; the first to end gets it.
    self.path = "\(parent)/\(prefix)\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    do {
      try Self.make(self.path)
    } catch {
      throw named(error)
    }
  }

  /// An error about a file inside, as one about the path that it was meant for.
  func named(_ error: any Error) -> any Error {
    func visible(_ hidden: String) -> String? {
      hidden.hasPrefix(path) ? final + hidden.dropFirst(path.count) : nil
    }
    switch error {
    case FileError.unwritable(let file, let reason):
      return FileError.unwritable(path: visible(file) ?? file, reason: reason)
    case FileError.unreadable(let file, let reason):
      return FileError.unreadable(path: visible(file) ?? file, reason: reason)
    default: return error
    }
  }

  /// Adds a folder.
  func add(_ name: String) throws(FileError) {
    try Self.make(path + "/" + name)
    folders.append(path + "/" + name)
  }

  /// Writes a file and brings it to the disk.
  func write(_ bytes: [UInt8], _ name: String) throws(FileError) {
    let target = path + "/" + name
    let descriptor = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .unwritable(path: target, reason: systemReason()) }
    defer { close(descriptor) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      guard count > 0 || errno == EINTR else {
        throw .unwritable(path: target, reason: systemReason())
      }
      sent += max(count, 0)
    }
    guard fsync(descriptor) == 0 else {
      throw .unwritable(path: target, reason: systemReason())
    }
  }

  /// Gives the folder its final name, with all of it and the name on the disk.
  func finish() throws {
    for folder in folders + [path] { try Self.sync(folder) }
    guard rename(path, final) == 0 else {
      let isTaken = [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno)
      if isTaken { throw BundleError.exists(path: final) }
      throw FileError.unwritable(path: final, reason: systemReason())
    }
    try Self.sync(parent)
  }

  /// Brings the names in a folder to the disk, where its file system can.
  private static func sync(_ folder: String) throws(FileError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unwritable(path: folder, reason: systemReason()) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw .unwritable(path: folder, reason: systemReason())
    }
  }

  /// Removes the folder.
  func remove() { Self.remove(path) }

  /// Whether a process is there, be it another user's.
  static func isAlive(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno == EPERM }

  private static func make(_ path: String) throws(FileError) {
    guard mkdir(path, 0o755) == 0 else {
      throw .unwritable(path: path, reason: systemReason())
    }
  }

  private static func remove(_ path: String) {
    for name in (try? MappedFile.names(inFolder: path)) ?? [] where name != "." && name != ".." {
      let inner = path + "/" + name
      if unlink(inner) != 0 { remove(inner) }
    }
    rmdir(path)
  }
}
