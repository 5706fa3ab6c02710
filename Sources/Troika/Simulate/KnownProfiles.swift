import Foundation
public import Graph
import Models

/// Why a device profile cannot be had.
public enum ProfileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is none by that name, and no such file.
  case unknown(String)
  /// This machine has not been measured yet.
  case notCalibrated(path: String)
  /// It says nothing about power.
  case knowsNoWatts(String)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .unknown(let name):
      "profile: expected host, \(KnownProfiles.names.joined(separator: ", ")) or a file, "
        + "got '\(name)'"
    case .knowsNoWatts(let name):
      "profile \(name): expected watts of some unit, came none: energy cannot be predicted"
    case .notCalibrated(let path):
      "profile host: expected \(path), which troika calibrate writes, found none"
    }
  }
}

/// Profiles that come with Troika, and the one of this machine.
public enum KnownProfiles {
  /// Those that come with it.
  public static let names = ["iphone-17-pro", "mac-studio"]

  /// Where the profile of this machine is kept.
  public static var hostPath: String {
    let environment = ProcessInfo.processInfo.environment
    let home = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? ".") + "/.cache"
    return home + "/troika/host.json"
  }

  /// A profile by its name, or from a file.
  ///
  /// - Throws: where there is none, or its file cannot be read.
  public static func profile(_ name: String) throws -> DeviceProfile {
    switch name {
    case "iphone-17-pro": return try embedded(PackageResources.iphone_17_pro_json, name)
    case "mac-studio": return try embedded(PackageResources.mac_studio_json, name)
    case "host":
      guard FileManager.default.fileExists(atPath: hostPath) else {
        throw ProfileError.notCalibrated(path: hostPath)
      }
      return try ProfileFile.read(path: hostPath)
    default:
      guard FileManager.default.fileExists(atPath: name) else { throw ProfileError.unknown(name) }
      return try ProfileFile.read(path: name)
    }
  }

  private static func embedded(_ bytes: [UInt8], _ name: String) throws -> DeviceProfile {
    let value = try bytes.withUnsafeBytes { try JSONValue(parsing: $0, subject: name + ".json") }
    return try ProfileFile.read(JSONNode(value, subject: name + ".json"))
  }
}
