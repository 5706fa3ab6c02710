import Foundation
import Models

/// One conversation's caches; turns that repeat what came before cost only what is new.
public final class Conversation: @unchecked Sendable {
  private let troika: Troika
  private let lock = NSLock()
  private var session: DecoderSession?
  private var history: [PromptKey] = []
  /// Media that earlier turns of a chat decoded.
  private var loaded: [Medium: LoadedMedium] = [:]

  /// A conversation over a loaded model.
  ///
  /// One turn at a time runs; a second one waits.
  public init(_ troika: Troika) { self.troika = troika }

  /// Answers a request, reusing the caches as far as it begins like the one before.
  ///
  /// - Throws: where a medium cannot be read or the prompt does not fit.
  public func respond(
    to request: Request,
    onText: @escaping @Sendable (String) -> Void = { _ in },
    onProgress: @escaping @Sendable (RequestProgress) -> Void = { _ in }
  ) async throws -> Response {
    try await respond(to: request, keepsMedia: false, onText: onText, onProgress: onProgress)
  }

  /// Answers a request; a chat keeps the media that its earlier turns showed, whatever became of
  /// their files.
  func respond(
    to request: Request,
    keepsMedia: Bool,
    onText: @escaping @Sendable (String) -> Void,
    onProgress: @escaping @Sendable (RequestProgress) -> Void
  ) async throws -> Response {
    let flag = CancellationFlag()
    return try await withTaskCancellationHandler {
      try await blocking { [self] in
        let callbacks = GenerationCallbacks(
          text: onText,
          progress: onProgress,
          isCancelled: { flag.isSet }
        )
        return try answer(request, keepsMedia: keepsMedia, callbacks)
      }
    } onCancel: {
      flag.set()
    }
  }

  private func answer(
    _ request: Request,
    keepsMedia: Bool,
    _ callbacks: GenerationCallbacks
  ) throws -> Response {
    lock.lock()
    defer { lock.unlock() }
    let session = try session ?? troika.makeSession()
    self.session = session
    let before = loaded
    if !keepsMedia { loaded = [:] }
    do {
      var response = try troika.generator(callbacks)
        .run(request, in: session, history: &history, loaded: &loaded)
      response.timings.loadNanoseconds = troika.loadNanoseconds
      troika.addPlan(to: &response, history, session)
      if !keepsMedia { loaded = before }
      troika.addHealth(to: &response)
      return response
    } catch {
      loaded = before
      // The caches may hold half a step.
      self.session = nil
      history = []
      throw error
    }
  }
}

/// A flag that is set once.
private final class CancellationFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false

  var isSet: Bool {
    lock.lock()
    defer { lock.unlock() }
    return value
  }

  func set() {
    lock.lock()
    value = true
    lock.unlock()
  }
}
