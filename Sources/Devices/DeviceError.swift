public import Graph

/// Why a unit cannot do what it was asked.
public enum DeviceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The unit is not on this machine.
  case unavailable(unit: String, reason: String)
  /// Memory could not be had.
  case outOfMemory(unit: String, byteCount: Int)
  /// An operation is not one the unit runs.
  case declined(unit: String, node: String, reason: String)
  /// A value was not bound, or with another type than the program has.
  case binding(program: String, name: String, expected: String, got: String)
  /// A launch failed.
  case launch(unit: String, program: String, reason: String)
  /// A program was accepted and does not compile.
  case compilation(unit: String, program: String, reason: String)
  /// The unit is lost: nothing on it works any more.
  case lost(unit: String, program: String, reason: String)
  /// A launch took too long; its unit counts as lost.
  case timedOut(unit: String, program: String, milliseconds: Int)
  /// A launch made NaN.
  case notANumber(unit: String, program: String, output: String)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .unavailable(let unit, let reason): "\(unit): not available: \(reason)"
    case .outOfMemory(let unit, let byteCount): "\(unit): cannot allocate \(byteCount) bytes"
    case .declined(let unit, let node, let reason): "\(unit): declines \(node): \(reason)"
    case .binding(let program, let name, let expected, let got):
      "\(program): \(name): expected \(expected), got \(got)"
    case .launch(let unit, let program, _), .compilation(let unit, let program, _),
      .lost(let unit, let program, _), .timedOut(let unit, let program, _),
      .notANumber(let unit, let program, _):
      "\(unit): \(program) failed: \(reason)"
    }
  }

  /// What went wrong, without unit and program.
  public var reason: String {
    switch self {
    case .unavailable(_, let reason), .declined(_, _, let reason), .launch(_, _, let reason),
      .lost(_, _, let reason):
      reason
    case .outOfMemory(_, let byteCount): "no memory for \(byteCount) bytes"
    case .binding(_, let name, let expected, let got): "\(name): expected \(expected), got \(got)"
    case .compilation(_, _, let reason): "does not compile: \(reason)"
    case .timedOut(_, _, let milliseconds): "no result after \(milliseconds) ms"
    case .notANumber(_, _, let output): "\(output): expected numbers, came NaN"
    }
  }

  /// The program that failed; nil where the error names none.
  public var program: String? {
    switch self {
    case .launch(_, let program, _), .compilation(_, let program, _), .lost(_, let program, _),
      .timedOut(_, let program, _), .notANumber(_, let program, _), .binding(let program, _, _, _):
      program
    case .unavailable, .outOfMemory, .declined: nil
    }
  }

  /// The unit that failed; nil where the error is no unit's.
  public var unit: UnitID? {
    switch self {
    case .unavailable(let unit, _), .outOfMemory(let unit, _), .declined(let unit, _, _),
      .launch(let unit, _, _), .compilation(let unit, _, _), .lost(let unit, _, _),
      .timedOut(let unit, _, _), .notANumber(let unit, _, _):
      UnitID.all.first { $0.name == unit }
    case .binding: nil
    }
  }

  /// Whether nothing on the unit works any more.
  public var losesUnit: Bool {
    switch self {
    case .unavailable, .lost, .timedOut: true
    default: false
    }
  }
}
