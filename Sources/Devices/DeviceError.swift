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

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .unavailable(let unit, let reason): "\(unit): not available: \(reason)"
    case .outOfMemory(let unit, let byteCount): "\(unit): cannot allocate \(byteCount) bytes"
    case .declined(let unit, let node, let reason): "\(unit): declines \(node): \(reason)"
    case .binding(let program, let name, let expected, let got):
      "\(program): \(name): expected \(expected), got \(got)"
    case .launch(let unit, let program, let reason): "\(unit): \(program) failed: \(reason)"
    }
  }
}
