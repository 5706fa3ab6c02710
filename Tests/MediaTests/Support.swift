import Foundation
import Media

/// Files beside the tests.
enum Fixtures {
  static let root: URL = Bundle.module.bundleURL.appendingPathComponent("Fixtures")

  static func path(_ name: String) -> String { root.appendingPathComponent(name).path }

  static func json<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  static func files(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(folder)).sorted()
  }

  /// A folder of its own for one test.
  static func scratch() throws -> URL {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("media-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }
}

/// The tensors of a safetensors file.
struct Tensors {
  private struct Entry: Decodable {
    var shape: [Int]
    var dataOffsets: [Int]
    enum CodingKeys: String, CodingKey {
      case shape
      case dataOffsets = "data_offsets"
    }
  }

  private let data: Data
  private let start: Int
  private let entries: [String: Entry]

  init(_ fixture: String) throws {
    data = try Data(contentsOf: URL(fileURLWithPath: Fixtures.path(fixture)))
    let length = data.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    start = 8 + length
    let header = try JSONSerialization.jsonObject(with: data[8..<start])
    var objects = header as? [String: Any] ?? [:]
    objects["__metadata__"] = nil
    let kept = try JSONSerialization.data(withJSONObject: objects)
    entries = try JSONDecoder().decode([String: Entry].self, from: kept)
  }

  func shape(_ name: String) -> [Int]? { entries[name]?.shape }

  /// The values of a tensor; none where there is no such tensor.
  func values<Value: BitwiseCopyable>(_ name: String, as type: Value.Type) -> [Value] {
    guard let entry = entries[name] else { return [] }
    let bytes = data[(start + entry.dataOffsets[0])..<(start + entry.dataOffsets[1])]
    return [UInt8](bytes).withUnsafeBytes { raw in
      (0..<raw.count / MemoryLayout<Value>.size).map {
        raw.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Value>.size, as: Value.self)
      }
    }
  }
}

/// CRC-32 as zlib computes it.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    var value = UInt32(index)
    for _ in 0..<8 {
      let halved = value >> 1
      value = value & 1 == 1 ? 0xEDB8_8320 ^ halved : halved
    }
    return value
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var value = ~UInt32(0)
    for byte in bytes {
      value = table[Int((value ^ UInt32(byte)) & 255)] ^ (value >> 8)
    }
    return ~value
  }
}

/// Patches of the reference that are kept as checksums only.
enum PatchChecksums {
  static func of(_ name: String) throws -> UInt32? {
    let url = URL(fileURLWithPath: Fixtures.path("goldens/patches_crc32.json"))
    return try JSONDecoder().decode([String: UInt32].self, from: Data(contentsOf: url))[name]
  }
}

/// A small generator with a fixed seed: the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
