import Glibc

/// A new file of a known size, mapped for writing.
///
/// All blocks are reserved first, so that a full disk is an error here and not a fault later.
final class OutputMap {
  let pointer: UnsafeMutableRawPointer
  private let byteCount: Int
  private let path: String
  private var isOpen = true

  init(_ path: String, byteCount: Int) throws(FileError) {
    self.path = path
    self.byteCount = byteCount
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .unwritable(path: path, reason: systemReason()) }
    defer { Glibc.close(descriptor) }
    let code = posix_fallocate(descriptor, 0, off_t(byteCount))
    guard code == 0 else { throw .unwritable(path: path, reason: systemReason(code)) }
    let mapped = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let mapped, mapped != MAP_FAILED else {
      throw .unwritable(path: path, reason: systemReason())
    }
    // Whoever reads the file next finds it in large pages.
    madvise(mapped, byteCount, MADV_HUGEPAGE)
    pointer = mapped
  }

  deinit { if isOpen { munmap(pointer, byteCount) } }

  /// Brings everything to the disk.
  func close() throws(FileError) {
    isOpen = false
    let failed = msync(pointer, byteCount, MS_SYNC) != 0
    let reason = systemReason()
    munmap(pointer, byteCount)
    if failed { throw .unwritable(path: path, reason: reason) }
  }
}
