import Devices
import Models

/// Vulkan devices as `troika devices` shows them, in at most 80 columns.
enum GPUDeviceText {
  /// A device's name, limits and lacks.
  static func lines(_ device: GPUDevice) -> [String] {
    let version = device.version.map(String.init).joined(separator: ".")
    let kind = device.kind == .software ? "software: the processor computes" : device.kind.rawValue
    let indent = String(repeating: " ", count: 14)
    func wrapped(_ text: String) -> [String] { PlanText.wrapped(indent, text) }
    let memory =
      "memory \(device.memoryByteCount >> 20) MiB"
      + (device.memoryBudget.map { ", \($0 >> 20) MiB free" } ?? "")
      + (device.isUnified ? ", shared with the processor" : "")
    let limits =
      "limits: storage range \(device.storageRange >> 20) MiB, "
      + "\(device.texelLimit) texels, workgroups of \(device.invocations), "
      + "\(device.sharedByteCount >> 10) KiB shared, subgroups of \(device.subgroupSize), "
      + "\(device.pushByteCount) bytes of push constants"
    var lines = PlanText.wrapped(
      TimelineText.pad("vulkan \(device.index)", 14),
      "\(device.name), \(kind), Vulkan \(version), \(device.driver)"
    )
    lines += wrapped(memory) + wrapped(limits)
    if !device.features.isEmpty {
      lines += wrapped("has: " + device.features.joined(separator: ", "))
    }
    if !device.lacks.isEmpty { lines += wrapped("lacks: " + device.lacks.joined(separator: ", ")) }
    if let obstacle = device.obstacle { lines += wrapped("cannot be used: \(obstacle)") }
    return lines
  }

  /// The same for programs.
  static func json(_ device: GPUDevice) -> JSONValue {
    .object(fields: [
      ("index", .integer(device.index)), ("name", .string(device.name)),
      ("driver", .string(device.driver)), ("kind", .string(device.kind.rawValue)),
      ("version", .string(device.version.map(String.init).joined(separator: "."))),
      ("usable", .bool(device.obstacle == nil)),
      ("obstacle", device.obstacle.map { .string($0) } ?? .null),
      ("memoryBytes", .integer(device.memoryByteCount)),
      ("memoryBudgetBytes", device.memoryBudget.map { .integer($0) } ?? .null),
      ("unified", .bool(device.isUnified)), ("storageRange", .integer(device.storageRange)),
      ("texelLimit", .integer(device.texelLimit)),
      ("invocations", .integer(device.invocations)),
      ("sharedBytes", .integer(device.sharedByteCount)),
      ("subgroupSize", .integer(device.subgroupSize)),
      ("pushBytes", .integer(device.pushByteCount)),
      ("features", .array(device.features.map { .string($0) })),
      ("lacks", .array(device.lacks.map { .string($0) })),
    ])
  }
}
