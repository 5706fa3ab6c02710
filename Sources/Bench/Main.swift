import Devices
import Foundation
import Graph
import Troika

/// The `troika` command.
@main
enum Main {
  static let commands: [any (Command & Sendable).Type] = [
    GenerateCommand.self, ChatCommand.self, InspectCommand.self, TokenizeCommand.self,
    VerifyCommand.self, BundleCommand.self, PlanCommand.self, SimulateCommand.self,
    PlaceCommand.self, CalibrateCommand.self, BenchCommand.self, ReportCommand.self,
    DevicesCommand.self,
  ]

  static func main() async {
    exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  /// Runs one command line.
  static func run(_ words: [String]) async -> ExitCode {
    guard let name = words.first, name != "--help", name != "-h", name != "help" else {
      Output.line(overview)
      return words.isEmpty ? .usage : .done
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      Output.error("\(name): not a command; see troika --help")
      return .usage
    }
    let rest = Array(words.dropFirst())
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      Output.line(command.help)
      return .done
    }
    do {
      return try await command.start(rest)
    } catch {
      Output.error("\(error)")
      return Faults.code(of: error)
    }
  }

  private static var overview: String {
    let rows = commands.map { command in
      "  \(command.name.padding(toLength: 11, withPad: " ", startingAt: 0))\(command.summary)"
    }
    return """
      usage: troika COMMAND [OPTIONS]

      Runs Gemma 4 with each part of the model on the unit that suits it.

      \(rows.joined(separator: "\n"))

      troika COMMAND --help says more. Example:
        troika generate --model DIR --image photo.jpg "Describe this image"
      """
  }
}
