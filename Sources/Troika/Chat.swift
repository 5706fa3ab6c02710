import Foundation
public import Models

/// A conversation that remembers its turns.
public actor Chat {
  private let troika: Troika
  private let conversation: Conversation
  private let options: GenerationOptions
  private var builder = TurnBuilder()
  private var messages: [ChatMessage] = []
  /// The turn that was asked for last; the next one waits for it.
  private var last: Task<Response, any Error>?

  init(_ troika: Troika, system: String?, options: GenerationOptions) {
    self.troika = troika
    self.options = options
    conversation = Conversation(troika)
    if let system { messages = [ChatMessage(.system, system)] }
  }

  /// The turns so far.
  public var turns: [ChatMessage] { messages }

  /// Says something and returns the answer; both become part of the conversation.
  ///
  /// - Parameters:
  ///   - prompt: what the user says, perhaps with placeholders for media.
  ///   - media: what the user shows.
  ///   - onText: called with each piece of text as it becomes final.
  ///   - onProgress: called before each piece of work that may take long.
  /// - Returns: the answer.
  /// - Throws: where a medium cannot be read or the conversation does not fit; it stays as it was.
  public func send(
    _ prompt: String,
    media: [MediaSource] = [],
    onText: @escaping @Sendable (String) -> Void = { _ in },
    onProgress: @escaping @Sendable (RequestProgress) -> Void = { _ in }
  ) async throws -> Response {
    let earlier = last
    let task = Task {
      _ = await earlier?.result
      return try await self.take(prompt, media, onText, onProgress)
    }
    last = task
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func take(
    _ prompt: String,
    _ media: [MediaSource],
    _ onText: @escaping @Sendable (String) -> Void,
    _ onProgress: @escaping @Sendable (RequestProgress) -> Void
  ) async throws -> Response {
    var next = builder
    let turn = ChatMessage(.user, try next.content(prompt: prompt, media: media))
    let request = Request(messages: messages + [turn], media: next.media, options: options)
    let response = try await conversation.respond(
      to: request,
      keepsMedia: true,
      onText: onText,
      onProgress: onProgress
    )
    builder = next
    messages += [turn, ChatMessage(.assistant, response.text)]
    return response
  }
}
