import Devices
import Foundation
import Graph
import Models

/// What figures of a run depend on beside the model: part of every file that holds some.
public struct MachineFacts: Hashable, Sendable {
  /// The processor's model name.
  public var processor: String
  /// Processors that are online.
  public var processors: Int
  /// Worker threads of units on the processor.
  public var threads: Int
  /// Bytes of main memory.
  public var memoryByteCount: Int
  /// How the system chooses the clock rate; `unknown` where it does not say.
  public var governor: String
  /// The instruction set of the processor's kernels.
  public var kernels: String
  /// The Vulkan device with its driver; nil where there is none.
  public var vulkan: String?
  /// This project's version.
  public var troika: String
  /// The compiler and whether it optimised.
  public var compiler: String

  /// Facts from their parts.
  public init(
    processor: String,
    processors: Int,
    threads: Int,
    memoryByteCount: Int,
    governor: String,
    kernels: String,
    vulkan: String?,
    troika: String,
    compiler: String
  ) {
    self.processor = processor
    self.processors = processors
    self.threads = threads
    self.memoryByteCount = memoryByteCount
    self.governor = governor
    self.kernels = kernels
    self.vulkan = vulkan
    self.troika = troika
    self.compiler = compiler
  }

  /// The version of this project.
  public static let version = "0.1"

  /// This machine.
  static func current(_ registry: Registry, threads: Int, device: String?) -> MachineFacts {
    let machine = HostMachine.current()
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    let governor = try? String(contentsOfFile: path, encoding: .utf8)
    let cpu = try? registry.unit(.cpu) as? CPUUnit
    let devices = (try? GPUDevice.all()) ?? []
    let chosen = devices.first { device == nil || $0.name == device } ?? devices.first
    return MachineFacts(
      processor: machine.processor,
      processors: machine.processors,
      threads: threads,
      memoryByteCount: machine.memoryByteCount,
      governor: governor?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown",
      kernels: cpu?.instructionSet ?? "unknown",
      vulkan: chosen.map { "\($0.name), \($0.driver)" },
      troika: version,
      compiler: compiler
    )
  }

  private static var compiler: String {
    #if compiler(>=6.4)
    let version = "6.4 or later"
    #elseif compiler(>=6.3)
    let version = "6.3"
    #else
    let version = "6.2"
    #endif
    #if DEBUG
    return "Swift \(version), debug"
    #else
    return "Swift \(version), release"
    #endif
  }
}
