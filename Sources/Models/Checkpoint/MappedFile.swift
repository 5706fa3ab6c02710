import Glibc

/// Why a file or folder cannot be read.
public enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system refused: its own words.
  case unreadable(path: String, reason: String)
  /// The system refused to write: its own words.
  case unwritable(path: String, reason: String)
  /// The path is something else than a regular file.
  case notAFile(path: String, came: String)
  /// The path is something else than a folder.
  case notAFolder(path: String, came: String)

  /// One line that names the path.
  public var description: String {
    switch self {
    case .unreadable(let path, let reason):
      "\(path.printablePath): expected a readable file or folder, came \(reason)"
    case .unwritable(let path, let reason):
      "\(path.printablePath): expected to write it, came \(reason)"
    case .notAFile(let path, let came): "\(path.printablePath): expected a file, came \(came)"
    case .notAFolder(let path, let came): "\(path.printablePath): expected a folder, came \(came)"
    }
  }
}

/// A file mapped into memory, read-only.
///
/// The bytes stay valid as long as this object lives; nothing is copied. A file that another
/// process shortens meanwhile ends this one with a bus error, as with every mapping.
public final class MappedFile: Sendable {
  /// Where the file lies.
  public let path: String
  /// The last component of the path.
  public let name: String
  /// The size in bytes.
  public let byteCount: Int
  private nonisolated(unsafe) let address: UnsafeMutableRawPointer?

  /// All bytes of the file, valid as long as somebody holds this object.
  public var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: address, count: byteCount)
  }

  /// What `body` makes of the bytes, the mapping held meanwhile.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(bytes)
  }

  /// Maps a regular file.
  ///
  /// - Throws: where the path is no regular file or cannot be opened.
  public init(_ path: String) throws(FileError) {
    guard !path.utf8.contains(0) else {
      throw .unreadable(path: path, reason: "a path with a zero byte")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .unreadable(path: path, reason: systemReason()) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw .unreadable(path: path, reason: systemReason())
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let came = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "a special file"
      throw .notAFile(path: path, came: came)
    }
    let count = Int(status.st_size)
    var address: UnsafeMutableRawPointer?
    if count > 0 {
      address = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0)
      guard let mapped = address, mapped != MAP_FAILED else {
        throw .unreadable(path: path, reason: systemReason())
      }
    }
    self.path = path
    name = path.split(separator: "/").last.map(String.init) ?? path
    byteCount = count
    self.address = address
  }

  deinit {
    if let address { munmap(address, byteCount) }
  }

  /// Says that bytes will be read whole: what of them comes from the disk from now on may be kept in
  /// large pages, which processors find faster.
  func expectWhole(_ range: Range<Int>) {
    let page = Int(getpagesize())
    let start = (range.lowerBound + page - 1) / page * page
    guard let address, range.upperBound > start, range.upperBound <= byteCount else { return }
    madvise(address + start, range.upperBound - start, MADV_HUGEPAGE)
  }

  /// The names in a folder, sorted.
  ///
  /// - Throws: where the path is no folder or cannot be read.
  static func names(inFolder path: String) throws(FileError) -> [String] {
    guard let folder = opendir(path) else {
      let code = errno
      guard code == ENOTDIR else { throw .unreadable(path: path, reason: systemReason(code)) }
      throw .notAFolder(path: path, came: "a file")
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { raw in
        String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names.sorted()
  }
}

func systemReason(_ code: Int32 = errno) -> String {
  guard let text = strerror(code) else { return "error \(code)" }
  return "'" + String(cString: text) + "'"
}
