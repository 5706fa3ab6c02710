/// Names a compute unit: `cpu`, `reference`, `gpu`, `gpu:emulated`, `neuralEngine`, `null`.
public struct UnitID: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The name as placements spell it.
  public let name: String

  /// A unit's name.
  public init(_ name: String) { self.name = name }

  /// A unit's name.
  public init(stringLiteral value: String) { name = value }

  /// The name.
  public var description: String { name }

  /// Kernels for this machine's processor.
  public static let cpu: UnitID = "cpu"
  /// Naive loops that define what every operation means.
  public static let reference: UnitID = "reference"
  /// Runs nothing and records launches.
  public static let null: UnitID = "null"
  /// A Vulkan device.
  public static let gpu: UnitID = "gpu"
  /// A GPU's numerics on the processor.
  public static let emulatedGPU: UnitID = "gpu:emulated"
  /// The fixed-shape fp16 engine.
  public static let neuralEngine: UnitID = "neuralEngine"

  /// The thread of this machine that prepares media and moves rows; no placement names it.
  public static let host: UnitID = "host"

  /// Every unit a placement may name.
  public static let all: [UnitID] = [
    cpu, reference, gpu, emulatedGPU, neuralEngine, null,
  ]
}

/// What a unit can run, as data: legality can be shown and tested without the device.
public struct UnitProfile: Hashable, Sendable {
  /// The unit.
  public let unit: UnitID
  /// What it is, in words.
  public let summary: String
  /// Element formats it stores activations in.
  public let activationTypes: Set<DType>
  /// Constant formats it reads.
  public let weightTypes: Set<DType>
  /// What it declines, with sources.
  public let rules: [UnitRule]
  /// What it does not compile as one program.
  public let limits: ProgramLimits
  /// How it keeps numbers.
  public let numerics: UnitNumerics
  /// Whether programs are compiled for fixed shapes, so that media are padded to a few of them.
  public let needsFixedShapes: Bool

  /// A profile from its parts.
  public init(
    unit: UnitID,
    summary: String,
    activationTypes: Set<DType>,
    weightTypes: Set<DType>,
    rules: [UnitRule] = [],
    limits: ProgramLimits = ProgramLimits(),
    numerics: UnitNumerics = UnitNumerics(),
    needsFixedShapes: Bool = false
  ) {
    self.unit = unit
    self.summary = summary
    self.activationTypes = activationTypes
    self.weightTypes = weightTypes
    self.rules = rules
    self.limits = limits
    self.numerics = numerics
    self.needsFixedShapes = needsFixedShapes
  }

  /// Whether the unit runs a node of a graph, and if not, why.
  public func verdict(_ node: Node, in graph: Graph) -> Verdict {
    if let rule = rules.first(where: { $0.declines(node, in: graph) }) {
      return .declines("\(rule.name) (\(rule.source))")
    }
    let stored = graph.isConstant(node.id) ? weightTypes : activationTypes
    guard stored.contains(node.type.dtype) else {
      return .declines("stores no \(node.type.dtype.rawValue) results")
    }
    for input in node.inputs.map({ graph.nodes[$0] }) {
      let allowed = graph.isConstant(input.id) ? weightTypes : activationTypes
      guard allowed.contains(input.type.dtype) else {
        return .declines("reads no \(input.type.dtype.rawValue)")
      }
    }
    return .runs
  }
}

/// A unit's answer about one node.
public enum Verdict: Hashable, Sendable {
  /// It runs there.
  case runs
  /// It does not, for this reason.
  case declines(String)
}

extension Node {
  /// Whether the node is a constant.
  public var isWeight: Bool { if case .constant = op { true } else { false } }
  /// Whether the node only names a value and computes nothing.
  public var isSource: Bool { isWeight || op == .input }
}

extension Graph {
  /// Whether a node is a constant or only another view of one.
  public func isConstant(_ id: Int) -> Bool {
    switch nodes[id].op {
    case .constant: true
    case .reshape, .cast, .slice(axis: 0, start: _, count: _): isConstant(nodes[id].inputs[0])
    default: false
    }
  }
}
