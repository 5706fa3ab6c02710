public import Foundation
import Models

/// A piece of a mixed prompt.
public enum PromptPart: Hashable, Sendable {
  /// Words.
  case text(String)
  /// A still picture.
  case image(URL)
  /// A clip.
  case video(URL, VideoOptions = VideoOptions())
  /// A recording.
  case audio(URL)
}

extension Request {
  /// One user turn of pieces in order.
  public init(_ parts: [PromptPart], system: String? = nil, options: GenerationOptions) {
    var builder = TurnBuilder()
    let content = builder.content(parts)
    let turn = ChatMessage(.user, content)
    self.init(
      messages: (system.map { [ChatMessage(.system, $0)] } ?? []) + [turn],
      media: builder.media,
      options: options
    )
  }

  /// One user turn: media go where the prompt's placeholders stand, the rest in front.
  ///
  /// - Throws: `PromptError` where there are more placeholders than media.
  public init(
    prompt: String,
    media sources: [MediaSource],
    system: String? = nil,
    options: GenerationOptions = GenerationOptions()
  ) throws {
    var builder = TurnBuilder()
    let content = try builder.content(prompt: prompt, media: sources)
    self.init(
      messages: (system.map { [ChatMessage(.system, $0)] } ?? [])
        + [ChatMessage(.user, content)],
      media: builder.media,
      options: options
    )
  }
}

/// Numbers the media of a conversation as its turns are made.
struct TurnBuilder {
  private(set) var media: [Medium: MediaSource] = [:]

  private mutating func add(_ source: MediaSource) -> [ContentPart] {
    let index = media.keys.count { $0.kind == source.kind }
    let medium = Medium(source.kind, index)
    media[medium] = source
    guard case .video(let url, let options) = source, options.includeAudio else {
      return [.medium(medium)]
    }
    return [.medium(medium)] + add(.soundtrack(url))
  }

  mutating func content(_ parts: [PromptPart]) -> [ContentPart] {
    parts.flatMap { part -> [ContentPart] in
      switch part {
      case .text(let text): [.text(text)]
      case .image(let url): add(.image(url))
      case .video(let url, let options): add(.video(url, options))
      case .audio(let url): add(.audio(url))
      }
    }
  }

  mutating func content(
    prompt: String,
    media sources: [MediaSource]
  ) throws(PromptError) -> [ContentPart] {
    let added = sources.map { add($0) }
    let primary = added.compactMap { parts -> Medium? in
      if case .medium(let medium) = parts.first { medium } else { nil }
    }
    let parts = try ContentPart.parts(of: prompt, media: primary)
    return parts.flatMap { part in
      added.first { $0.first == part } ?? [part]
    }
  }
}

extension Troika {
  /// Answers a prompt with media.
  ///
  /// - Returns: the answer's text.
  /// - Throws: where a medium cannot be read or the prompt does not fit.
  public func generate(
    _ prompt: String,
    images: [URL] = [],
    videoURL: URL? = nil,
    videoOptions: VideoOptions = VideoOptions(),
    audioURL: URL? = nil,
    system: String? = nil,
    options: GenerationOptions = GenerationOptions()
  ) async throws -> String {
    let sources = Self.sources(images, videoURL, videoOptions, audioURL)
    return try await respond(
      to: Request(prompt: prompt, media: sources, system: system, options: options)
    ).text
  }

  /// Answers pieces of text and media in any order.
  ///
  /// - Returns: the answer's text.
  /// - Throws: where a medium cannot be read or the prompt does not fit.
  public func generate(
    _ parts: [PromptPart],
    system: String? = nil,
    options: GenerationOptions = GenerationOptions()
  ) async throws -> String {
    try await respond(to: Request(parts, system: system, options: options)).text
  }

  /// The answer piece by piece.
  ///
  /// Ending the iteration cancels the rest.
  public func stream(
    _ prompt: String,
    images: [URL] = [],
    videoURL: URL? = nil,
    videoOptions: VideoOptions = VideoOptions(),
    audioURL: URL? = nil,
    system: String? = nil,
    options: GenerationOptions = GenerationOptions()
  ) -> AsyncThrowingStream<String, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do {
          let sources = Self.sources(images, videoURL, videoOptions, audioURL)
          let request = try Request(
            prompt: prompt,
            media: sources,
            system: system,
            options: options
          )
          _ = try await respond(to: request) { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// A conversation of several turns.
  public func chat(
    system: String? = nil,
    options: GenerationOptions = GenerationOptions()
  ) -> Chat {
    Chat(self, system: system, options: options)
  }

  private static func sources(
    _ images: [URL],
    _ video: URL?,
    _ options: VideoOptions,
    _ audio: URL?
  ) -> [MediaSource] {
    images.map { .image($0) } + (video.map { [.video($0, options)] } ?? [])
      + (audio.map { [.audio($0)] } ?? [])
  }
}
