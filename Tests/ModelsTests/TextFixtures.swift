import Foundation
import Testing

@testable import Models

/// Paths and throw-away folders for the tests of checkpoints, tokenizers and prompts.
enum TextFixtures {
  static let folder = (Bundle.module.resourceURL?.path ?? ".") + "/Fixtures"
  static let tinyGemma4 = folder + "/TinyGemma4"

  static func node(_ name: String) throws -> JSONNode {
    try JSONNode(file: tinyGemma4 + "/" + name)
  }

  /// Runs `body` with a fresh folder holding `files`.
  static func withFolder<Result>(
    _ files: [String: [UInt8]] = [:],
    _ body: (String) throws -> Result
  ) throws -> Result {
    let folder = NSTemporaryDirectory() + "troika-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder,
      withIntermediateDirectories: true
    )
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (name, bytes) in files {
      try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
    }
    return try body(folder)
  }

  /// A safetensors file with this header and data.
  static func safetensors(
    header: String,
    data: [UInt8] = [],
    length: UInt64? = nil,
    isPadded: Bool = true
  ) -> [UInt8] {
    var text = Array(header.utf8)
    while length == nil, isPadded, text.count % 8 != 0 { text.append(0x20) }
    let count = length ?? UInt64(text.count)
    return (0..<8).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } + text + data
  }

  /// How often the mutation tests run.
  static var fuzzIterations: Int {
    ProcessInfo.processInfo.environment["TROIKA_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 3000
  }
}

/// What `body` throws, as its one line; nil where it does not throw.
func message(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return "\(error)"
  }
}

/// A small counter-based generator, the same on every machine.
struct FuzzNumbers {
  var state: UInt64

  mutating func next(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % UInt64(bound))
  }

  /// Changes, inserts, removes or repeats a few bytes.
  mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    for _ in 0...next(below: 4) {
      let position = next(below: result.count + 1)
      switch next(below: 5) {
      case 0 where position < result.count: result[position] = UInt8(next(below: 256))
      case 1: result.insert(UInt8(next(below: 256)), at: position)
      case 2 where position < result.count: result.remove(at: position)
      case 3:
        let syntax = Array("{}[]\":,0-9eE.\\u".utf8)
        result.insert(syntax[next(below: syntax.count)], at: position)
      default:
        guard result.count > 1 else { continue }
        let from = next(below: result.count)
        let piece = result[from..<min(result.count, from + 1 + next(below: 8))]
        result.insert(contentsOf: Array(piece), at: position)
      }
    }
    return next(below: 16) == 0 ? Array(result.prefix(next(below: result.count + 1))) : result
  }
}
