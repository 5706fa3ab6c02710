/// A part of a request's work that can be placed by name.
public enum Part: Hashable, Sendable, CustomStringConvertible {
  /// The vision tower with its projection.
  case vision
  /// The audio tower with its projection.
  case audio
  /// Both embedding gathers and the rotary tables.
  case embed
  /// A run of decoder layers, counted from 1, in one of its phases.
  case chunk(Int, Phase)
  /// Final norm, logits and soft cap.
  case head(Phase)

  /// When a decoder program runs.
  public enum Phase: String, Hashable, Sendable, CaseIterable {
    /// Over the prompt.
    case prefill
    /// One token at a time.
    case decode
  }

  /// The part as traces name it.
  public var description: String {
    switch self {
    case .vision: "vision"
    case .audio: "audio"
    case .embed: "embed"
    case .chunk(let index, let phase): "chunk\(index).\(phase.rawValue)"
    case .head(let phase): "head.\(phase.rawValue)"
    }
  }

  /// The keys of a placement that concern this part, most specific first.
  var keys: [String] {
    switch self {
    case .vision: ["vision"]
    case .audio: ["audio"]
    case .embed: ["embed"]
    case .chunk(let index, let phase):
      ["\(phase.rawValue).chunk\(index)", "chunk\(index)", phase.rawValue, "chunks"]
    case .head(let phase): ["\(phase.rawValue).head", "head", phase.rawValue, "chunks"]
    }
  }
}

/// Which unit each part, or each operation, runs on.
public struct Placement: Hashable, Sendable, CustomStringConvertible {
  /// One line: a part's key or a glob over node names, and a unit.
  public struct Rule: Hashable, Sendable {
    /// A part's key or a glob: `vision`, `chunk2`, `decode.chunk3`, `text.layers.12.*`.
    public let key: String
    /// The unit.
    public let unit: UnitID

    /// Whether the key is a glob over operations' names.
    public let isGlob: Bool

    /// A rule from its parts.
    public init(_ key: String, _ unit: UnitID) {
      self.key = key
      self.unit = unit
      isGlob = key.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }
    }
  }

  /// Where everything runs that no rule names.
  public let base: UnitID
  /// The rules.
  public let rules: [Rule]
  /// Units that refuse a part's program: what would run there runs on the CPU.
  private var refused: [Part: Set<UnitID>] = [:]

  /// A placement from its parts.
  public init(base: UnitID = .cpu, rules: [Rule] = []) {
    self.base = base
    self.rules = rules
  }

  /// The unit of a part as a whole.
  public func unit(of part: Part) -> UnitID {
    for key in part.keys {
      if let rule = rules.last(where: { $0.key == key }) { return allowed(rule.unit, part) }
    }
    return allowed(base, part)
  }

  /// The unit of one operation of a part: a glob over its name, else the part's.
  public func unit(of node: Node, in part: Part) -> UnitID {
    for rule in rules.reversed() where rule.isGlob {
      if Glob.matches(rule.key, node.name) { return allowed(rule.unit, part) }
    }
    return unit(of: part)
  }

  private func allowed(_ unit: UnitID, _ part: Part) -> UnitID {
    isRefused(part, by: unit) ? .cpu : unit
  }

  /// This placement with another unit in place of one.
  public func replacing(_ unit: UnitID, with other: UnitID) -> Placement {
    var result = Placement(
      base: base == unit ? other : base,
      rules: rules.map { Rule($0.key, $0.unit == unit ? other : $0.unit) }
    )
    result.refused = refused
    return result
  }

  /// This placement where a unit refuses a part: what would run there runs on the CPU.
  public func refusing(_ part: Part, by unit: UnitID) -> Placement {
    var result = self
    result.refused[part, default: []].insert(unit)
    return result
  }

  /// Whether the head is part of the last chunk's program: both have one unit, and no unit refuses
  /// the head as a program of its own.
  public func joinsHead(toChunk last: Int, _ phase: Part.Phase) -> Bool {
    let head = Part.head(phase)
    return unit(of: head) == unit(of: .chunk(last, phase)) && refused[head] == nil
  }

  /// Whether a unit refuses a part.
  public func isRefused(_ part: Part, by unit: UnitID) -> Bool {
    refused[part]?.contains(unit) ?? false
  }

  /// Units that globs over operations name.
  public var globUnits: Set<UnitID> { Set(rules.filter(\.isGlob).map(\.unit)) }

  /// Every unit that is named.
  public var units: Set<UnitID> { Set(rules.map(\.unit) + [base]) }

  /// The inline form: `vision=gpu,chunks=neuralEngine`, or a unit's name where no rule is left.
  public var description: String {
    if rules.isEmpty { return base.name }
    let named = rules.map { "\($0.key)=\($0.unit)" }.joined(separator: ",")
    return base == .cpu ? named : "*=\(base),\(named)"
  }
}

/// Why a placement cannot be read.
public enum PlacementError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A key is no part and no glob.
  case unknownPart(String)
  /// A unit's name is not known.
  case unknownUnit(String)
  /// A chunk's number is beyond the layout.
  case noSuchChunk(String, chunks: Int)
  /// A glob matches no operation of the model.
  case matchesNothing(String)
  /// An entry is not `key=unit`.
  case malformed(String)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .unknownPart(let name):
      "placement: expected vision, audio, embed, chunks, chunkN, prefill, decode, head or a glob, "
        + "got '\(name)'"
    case .unknownUnit(let name):
      "placement: expected one of \(UnitID.all.map(\.name).joined(separator: " ")), got '\(name)'"
    case .noSuchChunk(let key, let chunks):
      "placement: expected chunk1 to chunk\(chunks), got '\(key)'"
    case .matchesNothing(let glob):
      "placement: expected a glob that matches operations, got '\(glob)'"
    case .malformed(let text): "placement: expected key=unit, got '\(text)'"
    }
  }
}

extension Placement {
  /// Reads a name (`cpu`, `mission`, …) or the inline form.
  ///
  /// - Throws: `PlacementError` naming what is not known.
  public init(parsing text: String) throws(PlacementError) {
    switch text {
    case "mission":
      self.init(rules: [
        Rule("vision", .gpu), Rule("audio", .gpu), Rule("chunks", .neuralEngine),
        Rule("head", .neuralEngine),
      ])
    case "auto": self.init()
    default:
      if !text.contains("=") {
        self.init(base: try UnitID(known: text))
        return
      }
      var base = UnitID.cpu
      var rules: [Rule] = []
      for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
        let sides = entry.split(separator: "=", omittingEmptySubsequences: false)
        guard sides.count == 2 else { throw .malformed(String(entry)) }
        if sides[0] == "*" {
          base = try UnitID(known: String(sides[1]))
        } else {
          rules.append(try Rule(parsing: String(sides[0]), String(sides[1])))
        }
      }
      self.init(base: base, rules: rules)
    }
  }
}

extension UnitID {
  /// A unit by the name that placements use.
  ///
  /// - Throws: `PlacementError.unknownUnit`.
  public init(known name: String) throws(PlacementError) {
    guard Self.all.contains(UnitID(name)) else { throw .unknownUnit(name) }
    self.init(name)
  }
}

extension Placement.Rule {
  /// A rule from a part's key or a glob, and a unit's name.
  ///
  /// - Throws: `PlacementError` naming what is not known.
  public init(parsing key: String, _ unit: String) throws(PlacementError) {
    self.init(try Self.known(key), try UnitID(known: unit))
  }

  private static func known(_ name: String) throws(PlacementError) -> String {
    var rest = name[...]
    for phase in Part.Phase.allCases where rest.hasPrefix(phase.rawValue + ".") {
      rest = rest.dropFirst(phase.rawValue.count + 1)
    }
    let isChunk = rest.hasPrefix("chunk") && (Int(rest.dropFirst(5)) ?? 0) > 0
    let named = ["vision", "audio", "embed", "chunks", "prefill", "decode", "head"]
    guard isChunk || named.contains(String(rest)) || name.contains("*") || name.contains("?") else {
      throw .unknownPart(name)
    }
    return name
  }
}

/// Matching of names against `*` and `?`.
public enum Glob {
  /// Whether a name matches a pattern as a whole.
  public static func matches(_ pattern: String, _ name: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let name = Array(name.utf8)
    var (p, n) = (0, 0)
    var star: (pattern: Int, name: Int)?
    while n < name.count {
      if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
        star = (p, n)
        p += 1
      } else if p < pattern.count, pattern[p] == name[n] || pattern[p] == UInt8(ascii: "?") {
        p += 1
        n += 1
      } else if let last = star {
        p = last.pattern + 1
        n = last.name + 1
        star = (last.pattern, n)
      } else {
        return false
      }
    }
    while p < pattern.count, pattern[p] == UInt8(ascii: "*") { p += 1 }
    return p == pattern.count
  }
}
