import Graph

/// Faults to inject, for tests of what follows them: the same plan gives the same faults again.
public struct FaultPlan: Hashable, Sendable {
  /// The faults; of several that strike one launch the first counts.
  public var faults: [Fault]
  /// What random faults are drawn from.
  public var seed: UInt64
  /// The share of launches that random faults strike.
  public var rate: Double
  /// Nanoseconds that a launch may take in place of the usual limit; nil for the usual.
  public var limitNanoseconds: Int?

  /// Faults from their parts; none by default.
  public init(
    _ faults: [Fault] = [],
    seed: UInt64 = 0,
    rate: Double = 0.01,
    limitNanoseconds: Int? = nil
  ) {
    self.faults = faults
    self.seed = seed
    self.rate = rate
    self.limitNanoseconds = limitNanoseconds
  }

  /// Whether nothing is injected.
  public var isEmpty: Bool { faults.isEmpty }

  /// Whether anything may go wrong on a unit.
  func concerns(_ unit: UnitID) -> Bool { faults.contains { $0.concerns(unit) } }

  /// Finds what strikes a launch.
  ///
  /// - Parameters:
  ///   - unit: the unit.
  ///   - number: the launch's number on its unit, from 1.
  ///   - program: the program's name.
  ///   - turn: the launch's number among those of its program's segment, from 1.
  /// - Returns: the fault; nil where nothing strikes.
  func fault(on unit: UnitID, launch number: Int, of program: String, turn: Int) -> Fault? {
    for fault in faults where fault.concerns(unit) && fault.kind != .compile {
      guard fault.strikes(launch: number, of: program, turn: turn) else { continue }
      if fault.kind != .random { return fault }
      if let kind = drawn(unit, number) { return Fault(unit, kind, at: .launch(number)) }
    }
    return nil
  }

  /// What the seed says of a launch.
  private func drawn(_ unit: UnitID, _ number: Int) -> Fault.Kind? {
    var state = seed &+ 0x9E37_79B9_7F4A_7C15
    for byte in unit.name.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    state = Self.mixed(state &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
    guard Double(state >> 11) * 0x1p-53 < rate else { return nil }
    let kinds: [Fault.Kind] = [.fail, .nan, .slow(3)]
    return kinds[Int(Self.mixed(state) % UInt64(kinds.count))]
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
