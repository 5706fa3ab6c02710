import Foundation
import Models
import Troika

/// `troika chat`: several turns.
enum ChatCommand: Command {
  static let name = "chat"
  static let summary = "talk with the model over several turns"
  static let help = """
    usage: troika chat --model DIR [OPTIONS]

    Reads a turn a line, from a terminal or a pipe, and streams the answers. Lines that begin with a
    slash are commands:
      /image F  /video F  /audio F   add a medium to the next turn
      /system S                      start over with a system turn
      /reset                         start over
      /quit                          end

    \(RequestOptions.help)

    Example:
      printf '/image photo.jpg\\nWhat is this?\\nAnd what colour?\\n' | troika chat --model DIR
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: RequestOptions.valued,
      repeated: RequestOptions.repeated,
      switches: RequestOptions.switches
    )
    if let extra = arguments.words.first {
      throw UsageError("\(extra): expected no prompt, turns are read from standard input")
    }
    if arguments.has("json") { throw UsageError("--json: not an option of this command") }
    let options = RequestOptions(arguments: arguments)
    let troika = try await options.loadModel().troika
    for warning in troika.warnings { Output.warning(warning) }
    let interrupt = Interrupt()
    let turn = CurrentTurn()
    interrupt.onSignal { if !turn.cancel() { exit(ExitCode.done.rawValue) } }
    var loop = ChatLoop(
      troika: troika,
      generation: try options.generation(),
      video: try options.video(),
      system: arguments["system"],
      waiting: try options.media(),
      turn: turn
    )
    return await loop.run()
  }
}

/// The turn that is being answered.
final class CurrentTurn: @unchecked Sendable {
  private let lock = NSLock()
  private var task: Task<Response, any Error>?

  func set(_ task: Task<Response, any Error>?) {
    lock.lock()
    self.task = task
    lock.unlock()
  }

  /// Stops the answer; false where there is none.
  func cancel() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    task?.cancel()
    return task != nil
  }
}

private struct ChatLoop {
  let troika: Troika
  let generation: GenerationOptions
  let video: VideoOptions
  var system: String?
  var waiting: [MediaSource]
  let turn: CurrentTurn

  mutating func run() async -> ExitCode {
    var chat = troika.chat(system: system, options: generation)
    var code = ExitCode.done
    let isTerminal = isatty(STDIN_FILENO) == 1
    while true {
      if isTerminal { Output.write("> ") }
      guard let line = readLine() else {
        if !waiting.isEmpty { Output.warning("\(waiting.count) media were not sent with any turn") }
        break
      }
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.isEmpty && waiting.isEmpty { continue }
      let (word, rest) = Self.command(text)
      switch word {
      case "/quit": return code
      case "/reset":
        waiting = []
        chat = troika.chat(system: system, options: generation)
      case "/system":
        system = rest.isEmpty ? nil : rest
        waiting = []
        chat = troika.chat(system: system, options: generation)
      case .some(let word) where ["/image", "/video", "/audio"].contains(word):
        if rest.isEmpty {
          Output.error("\(word): expected a file")
        } else {
          waiting.append(source(word, rest))
        }
      case .some(let other) where !other.dropFirst().contains("/"):
        Output.error("\(other): not a command of chat; see troika chat --help")
      default:
        code = await answer(text, chat, code)
      }
    }
    return code
  }

  private mutating func answer(_ text: String, _ chat: Chat, _ code: ExitCode) async -> ExitCode {
    let media = waiting
    waiting = []
    let task = Task {
      try await chat.send(
        text,
        media: media,
        onText: {
          ProgressLine.clear()
          Output.write($0)
        },
        onProgress: { ProgressLine.show($0) }
      )
    }
    turn.set(task)
    defer { turn.set(nil) }
    do {
      let response = try await task.value
      Output.write("\n")
      for warning in response.warnings { Output.warning(warning) }
      return code
    } catch {
      Output.error("\(error)")
      return Faults.code(of: error)
    }
  }

  private func source(_ word: String, _ path: String) -> MediaSource {
    let url = URL(fileURLWithPath: path)
    switch word {
    case "/image": return .image(url)
    case "/video": return .video(url, video)
    default: return .audio(url)
    }
  }

  private static func command(_ line: String) -> (String?, String) {
    guard line.hasPrefix("/") else { return (nil, line) }
    let parts = line.split(separator: " ", maxSplits: 1)
    let rest = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    return (parts.first.map(String.init), rest)
  }
}
