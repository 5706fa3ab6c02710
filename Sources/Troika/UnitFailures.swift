import Devices
import Foundation
import Graph

/// Which units have failed which programs of a loaded model, and how long a launch may take.
///
/// Shared by all sessions of a model. A failure sends one part away from one unit; a unit that is
/// lost sends away everything that is placed on it.
final class UnitFailures: @unchecked Sendable {
  private struct Content {
    var lost: Set<UnitID> = []
    var moved: [Part: Set<UnitID>] = [:]
    var abandoned: [(program: Program, bindings: [String: Value])] = []
  }

  /// Whether what fails on a unit may run on another.
  let allowsFallback: Bool
  /// Whether results are searched for NaN.
  let checksNumbers: Bool
  /// Nanoseconds that a launch may take in place of the usual limit.
  private let limitNanoseconds: Int?
  private let content = Locked(Content())

  init(allowsFallback: Bool, checksNumbers: Bool = true, limitNanoseconds: Int? = nil) {
    self.allowsFallback = allowsFallback
    self.checksNumbers = checksNumbers
    self.limitNanoseconds = limitNanoseconds
  }

  /// Units that a part is kept away from.
  func avoided(by part: Part) -> Set<UnitID> {
    guard allowsFallback else { return [] }
    return content.update { $0.lost.union($0.moved[part] ?? []).subtracting([.cpu]) }
  }

  /// Whether nothing on a unit works any more.
  func isLost(_ unit: UnitID) -> Bool { content.update { $0.lost.contains(unit) } }

  /// Takes note of a failure.
  ///
  /// - Returns: whether the part may run on another unit: what fails on the processor may not.
  func note(_ error: DeviceError, in part: Part) -> Bool {
    guard let unit = error.unit else { return false }
    let mayMove = allowsFallback && unit != .cpu
    content.update { content in
      if error.losesUnit { content.lost.insert(unit) }
      if mayMove { content.moved[part, default: []].insert(unit) }
    }
    return mayMove
  }

  /// Keeps what a launch uses that is still under way on a unit when that is lost: for as long as
  /// the model is loaded, once a unit.
  func keep(_ program: Program, _ bindings: [String: Value], lostBy unit: UnitID) {
    content.update { content in
      guard !content.lost.contains(unit) else { return }
      content.abandoned.append((program, bindings))
    }
  }

  /// Nanoseconds that a launch may run.
  ///
  /// Thirty seconds, and two nanoseconds for each operation and byte; on a Vulkan device, which
  /// watches over its own progress, three minutes more; on units for tests no limit.
  func limit(work: Int, on unit: UnitID) -> Int {
    if let limitNanoseconds { return limitNanoseconds }
    let usual = 30_000_000_000 + 2 * work
    switch unit {
    case .reference, .null: return .max
    case .gpu: return usual + 180_000_000_000
    default: return usual
    }
  }
}

/// A value behind a lock.
private final class Locked<Content>: @unchecked Sendable {
  private let lock = NSLock()
  private var content: Content

  init(_ content: Content) { self.content = content }

  func update<Result>(_ body: (inout Content) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&content)
  }
}
