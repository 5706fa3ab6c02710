import Foundation
import Models

/// Options that several commands share.
enum Options {
  /// Worker threads: as asked for, else all processors this process may use.
  static func threads(_ arguments: Arguments) throws -> Int {
    try arguments.integer("threads", in: 1...1024) ?? ProcessInfo.processInfo.activeProcessorCount
  }
}

/// Numbers as text.
enum Format {
  /// A fixed number of decimals.
  static func fixed(_ value: Double, _ decimals: Int) -> String {
    String(format: "%.\(decimals)f", value)
  }

  /// Two digits and an exponent.
  static func scientific(_ value: Double) -> String { String(format: "%.1e", value) }
}

extension JSONValue {
  /// An object with members in the order given.
  static func object(fields: [(String, JSONValue)]) -> JSONValue {
    var object = JSONObject()
    for (key, value) in fields { object[key] = value }
    return .object(object)
  }
}
