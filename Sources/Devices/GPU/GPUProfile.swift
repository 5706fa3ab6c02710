import Graph

/// What the unit says about itself.
enum GPUProfile {
  /// Attention over a written mask is what fixed-shape units are given.
  static let maskedReason = "attention is fused here, without a mask in memory"

  /// Tables of gathers above this size stay in the processor's memory.
  static let deviceTableByteCount = 64 << 20

  /// The profile of a device without the operations whose self-test failed.
  static func make(_ device: GPUDevice, failures: [GPUSelfTest.Failure]) -> UnitProfile {
    let software = device.kind == .software ? ", software" : ""
    return profile(
      "Vulkan: \(device.name)\(software), \(device.driver)",
      [
        UnitRule(
          "values of at most \(device.storageRange) bytes",
          source: "maxStorageBufferRange of \(device.name)",
          .valueByteCount(atMost: device.storageRange)
        )
      ]
        + failures.map {
          UnitRule($0.reason, source: "self-test of \(device.driver)", .kinds([$0.kind]))
        }
    )
  }

  /// What every device declines, for plans where there is none.
  static let onPaper = profile("Vulkan: no device here", [])

  private static func profile(_ summary: String, _ rules: [UnitRule]) -> UnitProfile {
    UnitProfile(
      unit: .gpu,
      summary: summary,
      activationTypes: [.f32, .f16, .i32],
      weightTypes: Set(DType.allCases),
      rules: [
        UnitRule("argmax is done while sampling", source: "this project", .kinds(["argmax"])),
        UnitRule(maskedReason, source: "this project", .kinds(["maskedAttention"])),
        UnitRule(
          "head widths are multiples of 4",
          source: "this project",
          .headWidth(multipleOf: 4)
        ),
        UnitRule("rank at most 6", source: "this project", .rank(atMost: 6)),
      ] + rules,
      numerics: UnitNumerics(storage: .f16)
    )
  }
}
