import Foundation

/// Files about one device and driver that outlive the process.
struct GPUCacheFolder: Sendable {
  private let folder: String?

  init(_ path: String?, _ device: GPUDevice) {
    folder = path.map { "\($0)/\(device.cacheKey)" }
  }

  /// Whether anything is kept.
  var exists: Bool { folder != nil }

  /// A file's bytes; empty where there is none.
  func read(_ name: String) -> Data {
    guard let folder else { return Data() }
    return (try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))) ?? Data()
  }

  /// Replaces a file; what cannot be written is made again next time.
  func write(_ name: String, _ data: Data) {
    guard let folder else { return }
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try? data.write(to: URL(fileURLWithPath: "\(folder)/\(name)"), options: .atomic)
  }
}
