import Foundation
import Models

/// `troika tokenize`: text to ids and back.
enum TokenizeCommand: Command {
  static let name = "tokenize"
  static let summary = "turn text into ids, or ids into text"
  static let help = """
    usage: troika tokenize --model DIR [--decode] [--json] [TEXT]

    Prints the ids of a text, special tokens in it included, or with --decode the text of ids.
    Without TEXT, standard input is read.

      --model DIR   folder with tokenizer.json
      --decode      TEXT is ids, separated by spaces or commas
      --plain       special tokens in the text are plain text
      --json        one JSON document: {"ids": […]} or {"text": "…"}

    Example:
      troika tokenize --model DIR "Hello, world!"
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: ["model"],
      switches: ["decode", "json", "plain"]
    )
    let tokenizer = try Tokenizer(folder: try arguments.required("model"))
    let text: String
    if arguments.words.isEmpty {
      let data = FileHandle.standardInput.readDataToEndOfFile()
      guard let input = String(data: data, encoding: .utf8) else {
        throw UnusableInput("standard input: expected UTF-8 text")
      }
      text = input
    } else {
      text = arguments.words.joined(separator: " ")
    }
    if arguments.has("decode") {
      let decoded = try tokenizer.decode(try ids(text), skipSpecial: false)
      Output.line(
        arguments.has("json")
          ? JSONValue.object(fields: [("text", .string(decoded))]).text(
            .compact,
            sortingKeys: false
          )
          : decoded
      )
      return .done
    }
    let ids = tokenizer.encode(text, parseSpecial: !arguments.has("plain"))
    if arguments.has("json") {
      let value = JSONValue.object(fields: [("ids", .array(ids.map { .integer($0) }))])
      Output.line(value.text(.compact, sortingKeys: false))
    } else {
      Output.line(ids.map(String.init).joined(separator: " "))
    }
    return .done
  }

  private static func ids(_ text: String) throws -> [Int] {
    try text.split { " ,[]\n\t\r".contains($0) }.map { word in
      guard let id = Int(word), id >= 0 else {
        throw UnusableInput("ids: expected numbers of at least 0, got '\(word.prefix(40))'")
      }
      return id
    }
  }
}

/// Input that cannot be used, in one line.
struct UnusableInput: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
