import CGPU

/// A Vulkan device as it describes itself.
public struct GPUDevice: Hashable, Sendable {
  /// What kind of device it is.
  public enum Kind: String, Hashable, Sendable {
    /// A device with memory of its own.
    case discrete
    /// A device that shares the processor's memory.
    case integrated
    /// A device of a virtual machine.
    case virtual
    /// The processor, computing as a device would.
    case software
    /// None of these.
    case other
  }

  /// Its place in the loader's list.
  public let index: Int
  /// Its name.
  public let name: String
  /// The driver and its version in words.
  public let driver: String
  /// What kind of device it is.
  public let kind: Kind
  /// Vulkan version as major, minor, patch.
  public let version: [Int]
  /// Bytes that a shader reaches through one storage buffer.
  public let storageRange: Int
  /// Texels that a shader reaches through one view.
  public let texelLimit: Int
  /// Bytes of one allocation at most.
  public let allocationLimit: Int
  /// Bytes of the device's memory.
  public let memoryByteCount: Int
  /// Bytes of it that this process may use now; nil where the driver does not say.
  public let memoryBudget: Int?
  /// Bytes to which ranges and views have to be aligned.
  public let alignment: Int
  /// Bytes to which imported memory has to be aligned; nil where none can be imported.
  public let importAlignment: Int?
  /// Bytes of push constants.
  public let pushByteCount: Int
  /// Bytes that a workgroup shares.
  public let sharedByteCount: Int
  /// Invocations of a workgroup at most.
  public let invocations: Int
  /// Invocations of a subgroup.
  public let subgroupSize: Int
  /// Rows, columns and depth of the cooperative matrices of f16 with f32 sums that products use; nil
  /// where the device has none that fit.
  let matrix: [Int]?
  /// Whether the processor sees all of the device's memory without a bus between.
  public let isUnified: Bool
  /// What the device has beyond what is needed.
  public let features: [String]
  /// What it lacks of that.
  public let lacks: [String]
  /// Why it cannot be used at all, or nil.
  public let obstacle: String?
  /// Names driver, device and versions, for caches.
  let cacheKey: String

  init(_ info: tg_info, index: Int) {
    self.index = index
    name = Self.text(info.name)
    let details = Self.text(info.driver_info)
    driver = Self.text(info.driver) + (details.isEmpty ? "" : " (\(details))")
    kind = [Kind.other, .integrated, .discrete, .virtual, .software][min(Int(info.type), 4)]
    let api = info.api_version
    version = [Int(api >> 22 & 0x7F), Int(api >> 12 & 0x3FF), Int(api & 0xFFF)]
    storageRange = Int(info.storage_range)
    texelLimit = Int(info.texel_elements)
    allocationLimit = Int(clamping: info.allocation_limit)
    memoryByteCount = Int(clamping: info.memory_size)
    memoryBudget = info.memory_budget == 0 ? nil : Int(clamping: info.memory_budget)
    alignment = Int(max(info.storage_alignment, info.texel_alignment, 16))
    importAlignment = info.has_import ? Int(info.import_alignment) : nil
    pushByteCount = Int(info.push_bytes)
    sharedByteCount = Int(info.shared_bytes)
    invocations = Int(info.invocations)
    subgroupSize = Int(info.subgroup_size)
    isUnified = info.is_unified
    let sizes = [Int(info.matrix.0), Int(info.matrix.1), Int(info.matrix.2)]
    let holdsTiles = info.shared_bytes >= GPUTiles.matrixSharedByteCount && info.invocations >= 256
    // Software devices with other subgroups crash.
    let isSafe = kind != .software || subgroupSize == 8
    let isWhole = subgroupSize > 0 && 256 % subgroupSize == 0
    matrix = sizes[0] > 0 && holdsTiles && isWhole && isSafe ? sizes : nil
    let optional: [(Bool, String)] = [
      (info.has_half_storage, "16-bit storage"), (info.has_half_arithmetic, "16-bit arithmetic"),
      (info.has_byte_storage, "8-bit storage"), (info.has_import, "import of host memory"),
      (info.has_cooperative_matrix, "cooperative matrices"),
    ]
    let used = matrix.map { " (\($0.map(String.init).joined(separator: " x ")) used)" } ?? ""
    features = optional.filter(\.0).map { $0.1 == "cooperative matrices" ? $0.1 + used : $0.1 }
    lacks = optional.filter { !$0.0 }.map(\.1)
    let needed: [(Bool, String)] = [
      (api >= 1 << 22 | 2 << 12, "Vulkan 1.2"), (info.has_compute, "a compute queue"),
      (info.has_timeline, "timeline semaphores"),
      (info.has_subgroups, "subgroup arithmetic and shuffles"),
      (info.push_bytes >= 96, "96 bytes of push constants"),
    ]
    obstacle = needed.first { !$0.0 }.map { "lacks \($0.1)" }
    var id = info.cache_id
    let identity = withUnsafeBytes(of: &id) { bytes in
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    cacheKey =
      "\(info.vendor_id)-\(info.device_id)-\(info.driver_version)-\(subgroupSize)-\(identity)"
  }

  private static func text<Characters>(_ characters: Characters) -> String {
    withUnsafeBytes(of: characters) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Larger is better: real devices before software.
  var rank: Int {
    switch kind {
    case .discrete: 4
    case .integrated: 3
    case .virtual: 2
    case .other: 1
    case .software: 0
    }
  }
}
