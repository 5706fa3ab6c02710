internal import Glibc

/// Reading of whole files and of their first bytes, with typed errors.
enum FileBytes {
  /// The whole file at `path`.
  static func read(path: String, limit: Int) throws(MediaError) -> [UInt8] {
    try withDescriptor(path: path) { (descriptor, byteCount) throws(MediaError) in
      guard byteCount <= limit else {
        throw .fileTooLarge(path: path, byteCount: byteCount, limit: limit)
      }
      return try fill(descriptor, count: byteCount, path: path)
    }
  }

  /// The first `count` bytes at `path`, fewer where the file is shorter.
  static func head(path: String, count: Int) throws(MediaError) -> [UInt8] {
    try withDescriptor(path: path) { (descriptor, byteCount) throws(MediaError) in
      try fill(descriptor, count: min(byteCount, count), path: path)
    }
  }

  /// True where `path` names a directory.
  static func isDirectory(path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Bytes of the file at `path`.
  static func size(path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  private static func withDescriptor<Result>(
    path: String,
    _ body: (Int32, Int) throws(MediaError) -> Result
  ) throws(MediaError) -> Result {
    guard !path.utf8.contains(0) else { throw .notFound(path: path) }
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw errno == ENOENT || errno == ENOTDIR
        ? .notFound(path: path) : .unreadable(path: path, reason: reason(errno))
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw .unreadable(path: path, reason: reason(errno))
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw .isDirectory(path: path)
    default: throw .unreadable(path: path, reason: "it is a pipe, socket or device")
    }
    guard status.st_size > 0 else { throw .empty(path: path) }
    return try body(descriptor, Int(status.st_size))
  }

  private static func fill(
    _ descriptor: Int32,
    count: Int,
    path: String
  ) throws(MediaError) -> [UInt8] {
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = Glibc.read(
          descriptor,
          buffer.baseAddress?.advanced(by: filled),
          count - filled
        )
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failure = errno }
        guard got > 0 else { break }
        filled += got
      }
    }
    guard failure == 0 else { throw .unreadable(path: path, reason: reason(failure)) }
    return bytes
  }

  private static func reason(_ code: Int32) -> String {
    String(cString: strerror(code))
  }
}
