import Graph

/// Why faults cannot be read.
public enum FaultPlanError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An entry is neither a fault nor a setting.
  case malformed(String)
  /// A kind is not known.
  case unknownKind(String)
  /// A place does not fit its kind, or cannot be read.
  case place(String, entry: String)
  /// A setting's value cannot be read.
  case value(key: String, expected: String, got: String)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .malformed(let text):
      "inject: expected UNIT:FAULT@WHEN with a unit of "
        + "\(UnitID.all.map(\.name).joined(separator: " ")), random, or seed=, rate=, limit=, "
        + "got '\(text)'"
    case .unknownKind(let text):
      "inject: expected compile, fail, nan, slow=Nx, hang, gone or random, got '\(text)'"
    case .place(let text, let entry):
      "inject: \(entry): expected launch=N, PROGRAM or PROGRAM#N with N from 1, perhaps a + "
        + "behind, got '\(text)'"
    case .value(let key, let expected, let got):
      "inject: \(key): expected \(expected), got '\(got)'"
    }
  }
}

extension FaultPlan {
  /// Reads faults: `neuralEngine:fail@chunk2.decode#3,gpu:gone@launch=3,limit=0.5s`.
  ///
  /// - Throws: `FaultPlanError` naming what is not known.
  public init(parsing text: String) throws(FaultPlanError) {
    self.init()
    for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
      try add(String(entry))
    }
  }

  private mutating func add(_ entry: String) throws(FaultPlanError) {
    if try set(entry) { return }
    if entry == "random" {
      faults.append(Fault(nil, .random, at: .everywhere))
      return
    }
    let units = UnitID.all.sorted { $0.name.count > $1.name.count }
    guard let unit = units.first(where: { entry.hasPrefix($0.name + ":") }) else {
      throw .malformed(entry)
    }
    let rest = entry.dropFirst(unit.name.count + 1)
    let sides = rest.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let kind = try Self.kind(String(sides[0]))
    guard sides.count == 2 else {
      let isAnywhere = kind == .compile || kind == .random
      faults.append(Fault(unit, kind, at: isAnywhere ? .everywhere : .launch(1)))
      return
    }
    faults.append(try Self.fault(unit, kind, String(sides[1]), entry))
  }

  private static func fault(
    _ unit: UnitID,
    _ kind: Fault.Kind,
    _ text: String,
    _ entry: String
  ) throws(FaultPlanError) -> Fault {
    let lasts = text.hasSuffix("+")
    let place = lasts ? text.dropLast() : text[...]
    let problem = FaultPlanError.place(text, entry: entry)
    if place.hasPrefix("launch=") {
      guard kind != .compile, kind != .random, let number = Int(place.dropFirst(7)), number > 0
      else { throw problem }
      return Fault(unit, kind, at: .launch(number), lasts: lasts)
    }
    let sides = place.split(separator: "#", omittingEmptySubsequences: false)
    let number = sides.count == 2 ? Int(sides[1]) : 1
    guard sides.count <= 2, !sides[0].isEmpty, let number, number > 0,
      kind != .compile || (sides.count == 1 && !lasts)
    else { throw problem }
    let isEvery = kind == .random && sides.count == 1
    return Fault(unit, kind, at: .program(String(sides[0]), number), lasts: lasts || isEvery)
  }

  private static func kind(_ text: String) throws(FaultPlanError) -> Fault.Kind {
    switch text {
    case "compile": return .compile
    case "fail": return .fail
    case "nan": return .nan
    case "hang": return .hang
    case "gone": return .gone
    case "random": return .random
    default:
      guard text.hasPrefix("slow="), text.hasSuffix("x") else { throw .unknownKind(text) }
      let number = String(text.dropFirst(5).dropLast())
      guard let factor = Double(number), factor >= 1, factor <= 1e6 else {
        throw .value(key: "slow", expected: "a factor from 1 to 1000000 and an x", got: number)
      }
      return .slow(factor)
    }
  }

  /// Takes a setting of the whole plan.
  ///
  /// - Returns: whether the entry is one.
  private mutating func set(_ entry: String) throws(FaultPlanError) -> Bool {
    let sides = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2 else { return false }
    let value = String(sides[1])
    switch sides[0] {
    case "seed":
      guard let number = UInt64(value) else {
        throw .value(key: "seed", expected: "a whole number", got: value)
      }
      seed = number
    case "rate":
      guard let number = Double(value), (0...1).contains(number) else {
        throw .value(key: "rate", expected: "a number from 0 to 1", got: value)
      }
      rate = number
    case "limit":
      guard value.hasSuffix("s"), let number = Double(value.dropLast()), number > 0,
        number <= 1e6
      else { throw .value(key: "limit", expected: "seconds such as 0.5s", got: value) }
      limitNanoseconds = Int(number * 1e9)
    default: return false
    }
    return true
  }
}
