/// Results by index, each written by one thread before anyone reads.
final class IndexedResults<Success: Sendable>: @unchecked Sendable {
  private let results: UnsafeMutableBufferPointer<Result<Success, any Error>>

  init(count: Int, _ initial: Success) {
    results = .allocate(capacity: count)
    results.initialize(repeating: .success(initial))
  }

  deinit {
    results.deinitialize()
    results.deallocate()
  }

  func set(_ index: Int, _ result: Result<Success, any Error>) { results[index] = result }

  var all: [Result<Success, any Error>] { Array(results) }
}
