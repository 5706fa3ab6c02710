public import Graph

/// Something that runs segments: the five things every horse can do.
public protocol ComputeUnit: Sendable {
  /// What it runs, as data.
  var profile: UnitProfile { get }

  /// Memory that its programs read and write, zeroed.
  func allocate(byteCount: Int) throws(DeviceError) -> Buffer

  /// Makes a segment ready to launch.
  ///
  /// - Throws: where an operation is declined or a constant cannot be read.
  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable

  /// What a segment would take of memory; nothing is read or computed.
  ///
  /// - Throws: where an operation is declined.
  func footprint(of segment: Segment) throws -> Footprint

  /// Copies a value once the moments have come.
  func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment

  /// Blocks until a moment has come.
  ///
  /// - Throws: what made the launch fail.
  func wait(for moment: Moment) throws
}

/// Memory of a compiled segment beside its bindings and the weights it reads where they lie.
public struct Footprint: Hashable, Sendable {
  /// Bytes of intermediate results while it runs.
  public var arenaByteCount = 0
  /// Bytes of constants that are kept in another format than the one they are stored in.
  public var constantByteCount = 0
  /// Bytes of weights kept in another format, by name: one copy serves all programs of a unit.
  public var convertedWeights: [String: Int] = [:]

  /// Nothing.
  public init() {}

  /// The bytes of both.
  public static func + (left: Footprint, right: Footprint) -> Footprint {
    var sum = left
    sum.arenaByteCount += right.arenaByteCount
    sum.constantByteCount += right.constantByteCount
    sum.convertedWeights.merge(right.convertedWeights) { own, _ in own }
    return sum
  }
}

/// A segment that is ready to launch.
public protocol Executable: Sendable {
  /// What it takes of memory.
  var footprint: Footprint { get }

  /// Runs the segment once the moments have come; returns at once.
  ///
  /// - Parameters:
  ///   - bindings: a value for every input and output by name. A state output shares its value with
  ///     its input.
  ///   - after: moments to wait for.
  /// - Returns: the moment at which the segment is over.
  /// - Throws: where a binding is absent or has another type.
  func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment

  /// Runs the segment on the calling thread, for units of this machine's processor that are free.
  ///
  /// - Parameter bindings: a value for every input and output by name.
  /// - Returns: when it ran; nil, and nothing has run, where it has to be launched.
  /// - Throws: where a binding is absent or has another type, or what makes the run fail.
  func runHere(_ bindings: [String: Value]) throws -> Timeline.Event?
}

extension Executable {
  /// Nothing: the segment has to be launched.
  public func runHere(_ bindings: [String: Value]) throws -> Timeline.Event? { nil }
}

extension ComputeUnit {
  /// Memory of this machine's processor.
  public func allocate(byteCount: Int) throws(DeviceError) -> Buffer {
    try Buffer(byteCount: byteCount)
  }

  /// Nothing, for units that keep no memory of their own.
  public func footprint(of segment: Segment) throws -> Footprint { Footprint() }

  /// Blocks until a moment has come.
  ///
  /// - Throws: what made the launch fail.
  public func wait(for moment: Moment) throws { try moment.wait() }
}

extension Graph {
  /// Checks that every input and output is bound with its type.
  ///
  /// - Throws: `DeviceError.binding` for the first that is not.
  func check(_ bindings: [String: Value]) throws(DeviceError) {
    let wanted = inputs.map { ($0.name, $0.type) } + outputs.map { ($0.name, nodes[$0.node].type) }
    for (binding, type) in wanted {
      guard let value = bindings[binding] else {
        throw .binding(program: name, name: binding, expected: "\(type)", got: "nothing")
      }
      guard value.type == type else {
        throw .binding(program: name, name: binding, expected: "\(type)", got: "\(value.type)")
      }
    }
  }
}
