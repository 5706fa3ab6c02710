import Foundation
import Graph
import Models
import Troika

/// Where placements of an experiment come from.
enum PlacementSource {
  /// One that is written down.
  case named(NamedPlacement)
  /// All that differ from one in as many parts.
  case moves(Int, of: NamedPlacement, Choices)
  /// As many different ones, drawn at random.
  case random(Int, seed: Int?, Choices)

  /// What a generator chooses from.
  struct Choices {
    /// The units.
    var units: [UnitID] = []
    /// The parts' keys; nil for the towers that requests need, each chunk and the head.
    var parts: [String]?
  }

  /// Units that are named.
  var units: Set<UnitID> {
    switch self {
    case .named(let named): named.placement.units
    case .moves(_, let named, let choices): named.placement.units.union(choices.units)
    case .random(_, _, let choices): Set(choices.units)
    }
  }

  /// The placements.
  ///
  /// - Parameters:
  ///   - parts: keys of the parts there are where the source names none.
  ///   - chunks: the number of the decoder's programs.
  ///   - seed: the experiment's.
  /// - Returns: them, none twice.
  func placements(parts: [String], chunks: Int, seed: Int) -> [NamedPlacement] {
    switch self {
    case .named(let named): return [named]
    case .moves(let count, let named, let choices):
      return Self.moves(count, named, choices.units, choices.parts ?? parts, chunks: chunks)
    case .random(let count, let own, let choices):
      var numbers = SplitMix(seed: own ?? seed)
      return Self.random(count, choices.units, choices.parts ?? parts, &numbers)
    }
  }

  /// One part after the other is moved to each other unit; pairs name the earlier part first.
  private static func moves(
    _ count: Int,
    _ start: NamedPlacement,
    _ units: [UnitID],
    _ parts: [String],
    chunks: Int
  ) -> [NamedPlacement] {
    guard count > 0 else { return [] }
    var moved: [NamedPlacement] = []
    for (index, part) in parts.enumerated() {
      for unit in units where start.placement.units(of: part, chunks: chunks) != [unit] {
        let one = NamedPlacement(
          name: start.name + " + \(part)=\(unit.name)",
          placement: start.placement.moving(part, to: unit, chunks: chunks),
          file: start.file
        )
        let rest = Array(parts[(index + 1)...])
        moved += count == 1 ? [one] : moves(count - 1, one, units, rest, chunks: chunks)
      }
    }
    return moved
  }

  private static func random(
    _ count: Int,
    _ units: [UnitID],
    _ parts: [String],
    _ numbers: inout SplitMix
  ) -> [NamedPlacement] {
    let all = pow(Double(units.count), Double(parts.count))
    var seen: Set<[Int]> = []
    var drawn: [NamedPlacement] = []
    while Double(drawn.count) < min(Double(count), all) {
      let choice = parts.map { _ in numbers.below(units.count) }
      guard seen.insert(choice).inserted else { continue }
      let placement = Placement(rules: zip(parts, choice).map { .init($0, units[$1]) })
      drawn.append(
        NamedPlacement(
          name: "\(placement)",
          placement: placement,
          file: PlacementFile(placement)
        )
      )
    }
    return drawn
  }
}

extension ExperimentReader {
  /// A placement's name, inline form or file, or a generator.
  func placement(_ node: JSONNode) throws -> PlacementSource {
    if node.value.string != nil { return .named(try named(node)) }
    let kinds = ["singleMoves", "pairMoves", "random"]
    for key in try node.object().keys where !(kinds + ["units", "parts", "seed"]).contains(key) {
      throw node.mismatch("singleMoves, pairMoves, random, units, parts or seed", came: "'\(key)'")
    }
    let given = try node.object().keys.filter(kinds.contains)
    guard given.count == 1 else {
      throw node.mismatch("one of singleMoves, pairMoves and random", came: "\(given.count)")
    }
    var choices = PlacementSource.Choices()
    for unit in try node.elements("units") { choices.units.append(try known(unit)) }
    guard !choices.units.isEmpty, Set(choices.units).count == choices.units.count else {
      throw try node.member("units").mismatch("units, each once", came: "\(choices.units)")
    }
    choices.parts = try node.optional("parts")?.elements().map { try part($0) }
    let seed = try node.optional("seed")?.count(0...Int.max)
    if seed != nil, given != ["random"] { throw node.mismatch("a seed for random only") }
    switch given[0] {
    case "singleMoves": return .moves(1, of: try named(node.member("singleMoves")), choices)
    case "pairMoves": return .moves(2, of: try named(node.member("pairMoves")), choices)
    default:
      return .random(try node.member("random").count(1...100_000), seed: seed, choices)
    }
  }

  private func named(_ node: JSONNode) throws -> NamedPlacement {
    let text = try node.string()
    if text.hasSuffix(".json") {
      let file = try PlacementFile(path: located(text))
      return NamedPlacement(name: text, placement: file.placement, file: file)
    }
    do {
      let placement = try Placement(parsing: text)
      return NamedPlacement(name: text, placement: placement, file: PlacementFile(placement))
    } catch {
      throw ExperimentError("\(node.subject): field '\(node.path)': \(error)")
    }
  }

  private func known(_ node: JSONNode) throws -> UnitID {
    do { return try UnitID(known: try node.string()) } catch let error as PlacementError {
      throw ExperimentError("\(node.subject): field '\(node.path)': \(error)")
    }
  }

  private func part(_ node: JSONNode) throws -> String {
    let key = try node.string()
    do { return try Placement.Rule(parsing: key, UnitID.cpu.name).key } catch {
      throw ExperimentError("\(node.subject): field '\(node.path)': \(error)")
    }
  }
}

extension Placement {
  /// The parts that a key means; none where it is a glob.
  private static func parts(_ key: String, chunks: Int) -> Set<Part> {
    let decoder = Part.Phase.allCases.flatMap { phase in
      (1...chunks).map { Part.chunk($0, phase) } + [.head(phase)]
    }
    return Set(([.vision, .audio, .embed] + decoder).filter { $0.isMeant(by: key) })
  }

  /// The units of what a key means.
  fileprivate func units(of key: String, chunks: Int) -> Set<UnitID> {
    Set(Self.parts(key, chunks: chunks).map { unit(of: $0) })
  }

  /// This placement with all that a key means on one unit.
  fileprivate func moving(_ key: String, to unit: UnitID, chunks: Int) -> Placement {
    let moved = Self.parts(key, chunks: chunks)
    let kept = rules.filter { rule in
      rule.key != key
        && (rule.isGlob || !Self.parts(rule.key, chunks: chunks).isSubset(of: moved))
    }
    return Placement(base: base, rules: kept + [Rule(key, unit)])
  }
}

extension Part {
  /// Whether a placement's key is about this part.
  fileprivate func isMeant(by key: String) -> Bool {
    switch self {
    case .vision: key == "vision"
    case .audio: key == "audio"
    case .embed: key == "embed"
    case .chunk(let index, let phase):
      ["\(phase.rawValue).chunk\(index)", "chunk\(index)", phase.rawValue, "chunks"].contains(key)
    case .head(let phase):
      ["\(phase.rawValue).head", "head", phase.rawValue, "chunks"].contains(key)
    }
  }
}
