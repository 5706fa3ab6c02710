import Foundation
import Graph
import Models
import Troika

/// `troika generate`: one prompt, one answer.
enum GenerateCommand: Command {
  static let name = "generate"
  static let summary = "answer a prompt with text, images, videos and audio"
  static let help = """
    usage: troika generate --model DIR [OPTIONS] [--] PROMPT

    Answers one prompt. Media go where <|image|>, <|video|> or <|audio|> stand in the prompt; media
    without a placeholder go in front, in command-line order. The answer is streamed.

    \(RequestOptions.help)
      --timeline          where each part ran and how long, after the answer
      --trace F           write what ran when, for Perfetto or chrome://tracing

    Example:
      troika generate --model DIR --image photo.jpg "Describe this image"
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: RequestOptions.valued.union(["trace"]),
      repeated: RequestOptions.repeated,
      switches: RequestOptions.switches.union(["timeline"])
    )
    let options = RequestOptions(arguments: arguments)
    let media = try options.media()
    let prompt = arguments.words.joined(separator: " ")
    let request = try Request(
      prompt: prompt,
      media: media,
      system: arguments["system"],
      options: try options.generation()
    )
    let troika = try await options.loadModel()
    for warning in troika.warnings { Output.warning(warning) }
    let isJSON = arguments.has("json")
    let interrupt = Interrupt()
    let task = Task {
      try await troika.respond(
        to: request,
        onText: {
          ProgressLine.clear()
          if !isJSON { Output.write($0) }
        },
        onProgress: { ProgressLine.show($0) }
      )
    }
    interrupt.onSignal { task.cancel() }
    let response: Response
    do {
      response = try await task.value
    } catch {
      ProgressLine.clear()
      throw error
    }
    ProgressLine.clear()
    for warning in response.warnings { Output.warning(warning) }
    if isJSON {
      Output.line(ResponseJSON.value(response).text(.compact, sortingKeys: false))
    } else {
      Output.write("\n")
      if arguments.has("timeline") { Output.note(TimelineText.summary(response)) }
    }
    if let path = arguments["trace"] {
      try TraceFile.write(response.timeline, to: path)
    }
    return response.finishReason == .cancelled ? .interrupted : .done
  }
}

/// Ctrl-C as a request to stop.
final class Interrupt: @unchecked Sendable {
  private let source: any DispatchSourceSignal

  init() {
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
  }

  /// Calls `body` on every Ctrl-C from now on; a third one ends the process.
  func onSignal(_ body: @escaping @Sendable () -> Void) {
    let counter = Counter()
    source.setEventHandler {
      if counter.next() > 2 { exit(ExitCode.interrupted.rawValue) }
      body()
    }
    source.resume()
  }

  deinit { source.cancel() }
}

/// Counts up from 1.
private final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0

  func next() -> Int {
    lock.lock()
    defer { lock.unlock() }
    value += 1
    return value
  }
}
