import Foundation

/// A value behind a lock that thread checkers understand.
final class Protected<Content>: @unchecked Sendable {
  private let lock = NSLock()
  private var content: Content

  init(_ content: Content) { self.content = content }

  func update<Result>(_ body: (inout Content) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&content)
  }
}
