import Foundation
import Graph
import Models

/// A folder of goldens: every file is checked against the manifest before it is believed.
final class GoldenSet {
  let folder: String
  let manifest: JSONNode
  private var digests: [String: String] = [:]
  private var tensorFiles: [String: SafetensorsFile] = [:]

  init(folder: String) throws {
    self.folder = folder
    manifest = try JSONNode(file: folder + "/manifest.json")
    let files = try manifest.member("files")
    for name in try files.object().keys {
      digests[name] = try files.member(name).string("sha256")
    }
  }

  /// Whether the set has a file.
  func has(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: folder + "/" + name)
  }

  /// The path of a file whose bytes are what the manifest says.
  func path(_ name: String) throws -> String {
    let path = folder + "/" + name
    let file = try MappedFile(path)
    guard let expected = digests[name] else { return path }
    let digest = file.withBytes { SHA256.hex($0) }
    guard digest == expected else {
      throw GoldenError.digest(file: file.name, expected: expected, got: digest)
    }
    return path
  }

  /// The path of a folder all of whose files are what the manifest says.
  func folder(_ name: String) throws -> String {
    for file in digests.keys.sorted() where file.hasPrefix(name + "/") { _ = try path(file) }
    return folder + "/" + name
  }

  func json(_ name: String) throws -> JSONNode { try JSONNode(file: try path(name)) }

  func tensors(_ stage: String) throws -> SafetensorsFile {
    if let file = tensorFiles[stage] { return file }
    let file = try SafetensorsFile(try path(stage + ".safetensors"))
    tensorFiles[stage] = file
    return file
  }
}

/// Why a set of goldens cannot be used.
enum GoldenError: Error, CustomStringConvertible {
  case digest(file: String, expected: String, got: String)
  case stage(String)

  var description: String {
    switch self {
    case .digest(let file, let expected, let got):
      "\(file): expected SHA-256 \(expected.prefix(16))… as in the manifest, got \(got.prefix(16))…"
    case .stage(let name):
      "--stage: expected one of \(Verification.stages.joined(separator: " ")), got '\(name)'"
    }
  }
}

extension SafetensorsFile {
  /// The numbers of a tensor of any plain format.
  func numbers(_ name: String) throws -> [Float] {
    guard let entry = entry(name) else { return try floats(of: name) }
    switch entry.dtype {
    case .i32: return try integers(name).map { Float($0) }
    case .u8, .bool: return try rawBytes(of: name).map { Float($0) }
    default: return try floats(of: name)
    }
  }

  func integers(_ name: String) throws -> [Int] {
    let bytes = try rawBytes(of: name)
    guard let entry = entry(name) else { return [] }
    switch entry.dtype {
    case .u8, .bool: return bytes.map { Int($0) }
    case .i8: return bytes.map { Int(Int8(bitPattern: $0)) }
    case .i64:
      return (0..<entry.shape.elementCount).map {
        Int(bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self))
      }
    default:
      return (0..<entry.shape.elementCount).map {
        Int(bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self))
      }
    }
  }
}
