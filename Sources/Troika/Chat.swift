public import Foundation
public import Models

/// A conversation that remembers its turns.
public actor Chat {
  private let troika: Troika
  private let conversation: Conversation
  private let options: GenerationOptions
  private var builder = TurnBuilder()
  private var messages: [ChatMessage] = []

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
    var next = builder
    let turn = ChatMessage(.user, try next.content(prompt: prompt, media: media))
    let request = Request(messages: messages + [turn], media: next.media, options: options)
    let response = try await conversation.respond(
      to: request,
      onText: onText,
      onProgress: onProgress
    )
    builder = next
    messages += [turn, ChatMessage(.assistant, response.text)]
    return response
  }
}
