import Foundation
import TestSupport

/// Arrays that NumPy made; `Tools/float16_fixtures.py` writes them.
struct HalfFixtures {
  struct Absent: Error { let name: String }

  private struct Entry: Decodable {
    let dtype: String
    let count: Int
    let offset: Int
  }

  private let index: [String: Entry]
  private let bytes: Data

  init() throws {
    let folder = GoldenFolder.root.appendingPathComponent("Tests/Golden/float16")
    index = try JSONDecoder().decode(
      [String: Entry].self,
      from: Data(contentsOf: folder.appendingPathComponent("fixtures.json"))
    )
    bytes = try Data(contentsOf: folder.appendingPathComponent("fixtures.bin"))
  }

  private func read<Number>(_ name: String, _ dtype: String, as _: Number.Type) throws -> [Number] {
    guard let entry = index[name], entry.dtype == dtype else { throw Absent(name: name) }
    let size = MemoryLayout<Number>.stride
    return bytes.withUnsafeBytes { all in
      (0..<entry.count).map {
        all.loadUnaligned(fromByteOffset: entry.offset + $0 * size, as: Number.self)
      }
    }
  }

  /// Bit patterns of an array of float16.
  func halves(_ name: String) throws -> [UInt16] {
    try read(name, "float16", as: UInt16.self)
  }

  /// An array of float32.
  func singles(_ name: String) throws -> [Float] {
    try read(name, "float32", as: Float.self)
  }

  /// An array of bytes.
  func stored(_ name: String) throws -> [UInt8] { try read(name, "uint8", as: UInt8.self) }

  /// The numbers of an array of float16.
  func numbers(_ name: String) throws -> [Float] {
    try halves(name).map { Float(Float16(bitPattern: $0)) }
  }

  /// Units in the last place from one half to another; 0 for two NaN, many for one.
  static func distance(_ a: UInt16, _ b: UInt16) -> Int {
    func isNaN(_ bits: UInt16) -> Bool { bits & 0x7FFF > 0x7C00 }
    if isNaN(a) || isNaN(b) { return isNaN(a) == isNaN(b) ? 0 : .max }
    func place(_ bits: UInt16) -> Int { bits & 0x8000 == 0 ? Int(bits) : -Int(bits & 0x7FFF) }
    return abs(place(a) - place(b))
  }
}
