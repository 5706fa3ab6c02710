import Devices
import Foundation
import Graph
import Models

/// `troika devices`: what this machine can run parts on.
enum DevicesCommand: Command {
  static let name = "devices"
  static let summary = "list the units of this machine, their limits and what they lack"
  static let help = """
    usage: troika devices [--gpu NAME|INDEX] [--json]

    Lists the units that placements may name, what each runs, and what each declines, and every
    Vulkan device with its limits and what it lacks.

    Example:
      troika devices
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(words, valued: ["threads", "gpu"], switches: ["json"])
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let registry = Registry(
      threads: try Options.threads(arguments),
      gpu: Options.gpu(arguments)
    )
    let machine = HostMachine.current()
    Options.announce(Options.gpu(arguments))
    var rows: [any ComputeUnit] = []
    var absent: [(unit: UnitID, reason: String)] = []
    for name in registry.names {
      do {
        rows.append(try registry.unit(name))
      } catch DeviceError.unavailable(_, let reason) where name == .gpu && arguments["gpu"] == nil {
        absent.append((name, reason))
      }
    }
    let devices = (try? GPUDevice.all()) ?? []
    if arguments.has("json") {
      Output.line(json(machine, rows, absent, devices).text(.indented, sortingKeys: false))
      return .done
    }
    Output.line(
      "\(machine.processor), \(machine.processors) processors, "
        + "\(machine.memoryByteCount >> 20) MiB, \(machine.nodes.count) NUMA node"
        + (machine.nodes.count == 1 ? "" : "s")
    )
    let indent = String(repeating: " ", count: 14)
    func lines(_ label: String, _ text: String) {
      PlanText.wrapped(label, text).forEach { Output.line($0) }
    }
    for unit in rows {
      let profile = unit.profile
      lines(TimelineText.pad(profile.unit.name, 14), profile.summary)
      if let cpu = unit as? CPUUnit {
        Output.line("              \(cpu.threads) threads, \(cpu.instructionSet) kernels")
      }
      let formats = profile.activationTypes.map(\.rawValue).sorted().joined(separator: " ")
      lines(indent, "activations \(formats)")
      for rule in profile.rules { lines(indent, "declines: \(rule.name)") }
    }
    for device in devices { GPUDeviceText.lines(device).forEach { Output.line($0) } }
    for unit in absent {
      lines(TimelineText.pad(unit.unit.name, 14), "not available: \(unit.reason)")
    }
    return .done
  }

  private static func json(
    _ machine: HostMachine,
    _ units: [any ComputeUnit],
    _ absent: [(unit: UnitID, reason: String)],
    _ devices: [GPUDevice]
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
      ("vulkan", .array(devices.map { GPUDeviceText.json($0) })),
      ("absent", .array(absent.map { .string($0.unit.name) })),
    ])
  }
}
