public import Graph

/// Something that goes wrong on a unit, and when.
public struct Fault: Hashable, Sendable {
  /// What goes wrong.
  public enum Kind: Hashable, Sendable {
    /// The program does not compile.
    case compile
    /// The launch ends with an error, its results half written.
    case fail
    /// The launch ends well and every number it made is NaN.
    case nan
    /// The launch takes this many times as long.
    case slow(Double)
    /// The launch never ends.
    case hang
    /// The unit disappears: this launch and everything after it fails.
    case gone
    /// A failure, NaN or a slow launch, drawn for each launch from the plan's seed and rate.
    case random
  }

  /// Which launches are concerned; counted from 1, in the order in which the unit runs them.
  public enum Place: Hashable, Sendable {
    /// Every compilation, for faults that are no launch's.
    case everywhere
    /// The unit's launch of this number.
    case launch(Int)
    /// The launch of this number of programs with this name, which may be a glob.
    case program(String, Int)
  }

  /// The unit; nil for every unit but the processor.
  public let unit: UnitID?
  /// What goes wrong.
  public let kind: Kind
  /// Which launches are concerned.
  public let place: Place
  /// Whether all later launches are concerned too.
  public let lasts: Bool

  /// A fault from its parts.
  public init(_ unit: UnitID?, _ kind: Kind, at place: Place, lasts: Bool = false) {
    self.unit = unit
    self.kind = kind
    self.place = place
    self.lasts = lasts
  }

  /// Whether the fault is one of a unit's.
  func concerns(_ name: UnitID) -> Bool { unit.map { $0 == name } ?? (name != .cpu) }

  /// Whether it strikes a launch.
  ///
  /// - Parameters:
  ///   - number: the launch's number on its unit.
  ///   - program: the program's name.
  ///   - turn: the launch's number among those of its program's segment.
  /// - Returns: whether it does.
  func strikes(launch number: Int, of program: String, turn: Int) -> Bool {
    switch place {
    case .everywhere: kind == .random
    case .launch(let wanted): number == wanted || (lasts && number > wanted)
    case .program(let name, let wanted):
      Glob.matches(name, program) && (turn == wanted || (lasts && turn > wanted))
    }
  }

  /// Whether it strikes a compilation.
  func strikesCompilation(of program: String) -> Bool {
    guard kind == .compile else { return false }
    if case .program(let name, _) = place { return Glob.matches(name, program) }
    return true
  }
}

extension Fault: CustomStringConvertible {
  /// The fault as it is written down.
  public var description: String {
    let head = unit.map { "\($0):\(kind)" } ?? "\(kind)"
    let tail = lasts ? "+" : ""
    switch place {
    case .everywhere: return head
    case .launch(let number): return "\(head)@launch=\(number)\(tail)"
    case .program(let name, _) where kind == .compile: return "\(head)@\(name)"
    case .program(let name, let number): return "\(head)@\(name)#\(number)\(tail)"
    }
  }
}

extension Fault.Kind: CustomStringConvertible {
  /// The kind as it is written down.
  public var description: String {
    switch self {
    case .compile: "compile"
    case .fail: "fail"
    case .nan: "nan"
    case .slow(let factor): "slow=\(factor == factor.rounded() ? "\(Int(factor))" : "\(factor)")x"
    case .hang: "hang"
    case .gone: "gone"
    case .random: "random"
    }
  }
}
