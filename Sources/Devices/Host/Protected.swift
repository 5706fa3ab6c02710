import Synchronization

/// A value behind a lock.
final class Protected<Content: Sendable>: Sendable {
  private let content: Mutex<Content>

  init(_ content: Content) { self.content = Mutex(content) }

  func update<Result: Sendable>(_ body: (inout Content) throws -> Result) rethrows -> Result {
    try content.withLock { try body(&$0) }
  }
}
