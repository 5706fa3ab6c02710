import Devices
import Foundation
import Graph
import Models

/// `troika devices`: what this machine can run parts on.
enum DevicesCommand: Command {
  static let name = "devices"
  static let summary = "list the units of this machine, their limits and what they lack"
  static let help = """
    usage: troika devices [--json]

    Lists the units that placements may name, what each runs, and what each declines.

    Example:
      troika devices
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(words, valued: ["threads"], switches: ["json"])
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let registry = Registry(threads: try Options.threads(arguments))
    let machine = HostMachine.current()
    let rows = try registry.names.map { try registry.unit($0) }
    let absent = UnitID.all.filter { !registry.names.contains($0) }
    if arguments.has("json") {
      Output.line(json(machine, rows, absent).text(.indented, sortingKeys: false))
      return .done
    }
    Output.line(
      "\(machine.processor), \(machine.processors) processors, "
        + "\(machine.memoryByteCount >> 20) MiB, \(machine.nodes.count) NUMA node"
        + (machine.nodes.count == 1 ? "" : "s")
    )
    for unit in rows {
      let profile = unit.profile
      Output.line("\(TimelineText.pad(profile.unit.name, 14))\(profile.summary)")
      if let cpu = unit as? CPUUnit {
        Output.line("              \(cpu.threads) threads, \(cpu.instructionSet) kernels")
      }
      let formats = profile.activationTypes.map(\.rawValue).sorted().joined(separator: " ")
      Output.line("              activations \(formats)")
      for rule in profile.rules { Output.line("              declines: \(rule.name)") }
    }
    for unit in absent {
      Output.line("\(TimelineText.pad(unit.name, 14))not available in this build")
    }
    return .done
  }

  private static func json(
    _ machine: HostMachine,
    _ units: [any ComputeUnit],
    _ absent: [UnitID]
  ) -> JSONValue {
    .object(fields: [
      ("processor", .string(machine.processor)),
      ("processors", .integer(machine.processors)),
      ("memoryBytes", .integer(machine.memoryByteCount)),
      ("numaNodes", .integer(machine.nodes.count)),
      (
        "units",
        .array(
          units.map { unit in
            .object(fields: [
              ("name", .string(unit.profile.unit.name)),
              ("summary", .string(unit.profile.summary)),
              (
                "activations",
                .array(unit.profile.activationTypes.map(\.rawValue).sorted().map { .string($0) })
              ),
              (
                "declines",
                .array(
                  unit.profile.rules.map { rule in
                    .object(fields: [
                      ("rule", .string(rule.name)), ("source", .string(rule.source)),
                    ])
                  }
                )
              ),
            ])
          }
        )
      ),
      ("absent", .array(absent.map { .string($0.name) })),
    ])
  }
}
