import Foundation
import Devices
public import Graph
import Models

/// An operation that another unit runs than the one it was placed on; host work is none.
public struct Fallback: Hashable, Sendable {
  /// The program.
  public let program: String
  /// The operation.
  public let node: String
  /// Where it was placed.
  public let wanted: UnitID
  /// The rule that sent it away, with its source.
  public let reason: String
  /// The operation's index in the program.
  let id: Int
}

/// Compiled programs of one model and placement, made when first needed and kept.
final class ProgramStore: @unchecked Sendable {
  enum Key: Hashable {
    case vision(patches: Int, taps: Set<String>)
    case audio(frames: Int, taps: Set<String>)
    case embed(tokens: Int)
    case chunk(Int, TextDecoder.ChunkShape, Part.Phase, taps: Set<String>)
    case head(rows: Int, Part.Phase, taps: Set<String>)

    /// What placements call it.
    var part: Part {
      switch self {
      case .vision: .vision
      case .audio: .audio
      case .embed: .embed
      case .chunk(let index, _, let phase, _): .chunk(index, phase)
      case .head(_, let phase, _): .head(phase)
      }
    }

    /// Inner values that are outputs too.
    var taps: Set<String> {
      switch self {
      case .vision(_, let taps), .audio(_, let taps), .chunk(_, _, _, let taps),
        .head(_, _, let taps):
        taps
      case .embed: []
      }
    }
  }

  /// A program, and the units that it is kept away from.
  private struct Place: Hashable {
    let key: Key
    let avoided: Set<UnitID>
  }

  let model: Gemma4
  private let weights: any WeightSource
  let registry: Registry
  let placement: Placement
  /// Units that failed.
  let failures: UnitFailures
  private let lock = NSCondition()
  private var programs: [Place: Program] = [:]
  /// Programs that a thread is making.
  private var making: Set<Place> = []
  private var order: [Place] = []
  private var forecast = MemoryForecast()
  /// Operations that another unit runs than the one they were placed on.
  private var audit: [Fallback] = []
  private var seen: Set<Fallback> = []
  /// Programs kept at most; shapes of prompts vary without end.
  private let capacity = 96
  /// Programs of other placements over the same units; nil where there are none.
  private let shared: SharedPrograms?

  init(
    model: Gemma4,
    weights: any WeightSource,
    registry: Registry,
    placement: Placement,
    failures: UnitFailures = UnitFailures(allowsFallback: false, checksNumbers: false),
    shared: SharedPrograms? = nil
  ) {
    self.shared = shared
    self.failures = failures
    self.model = model
    self.weights = weights
    self.registry = registry
    self.placement = placement
  }

  /// A program on the units of the placement that have not failed its part.
  ///
  /// Threads that want different programs make them at the same time; of one there is one maker.
  ///
  /// - Throws: where a unit is absent or declines an operation.
  func program(_ key: Key) throws -> Program { try found(key).program }

  /// The same, and whether it was made for this call.
  ///
  /// - Throws: where a unit is absent or declines an operation.
  func found(_ key: Key) throws -> (program: Program, isNew: Bool) {
    lock.lock()
    defer { lock.unlock() }
    while true {
      let avoided = failures.avoided(by: key.part).intersection(placement.units)
      let place = Place(key: key, avoided: avoided)
      if let program = programs[place] {
        order.removeAll { $0 == place }
        order.append(place)
        return (program, false)
      }
      if making.insert(place).inserted { return (try make(place), true) }
      lock.wait()
    }
  }

  /// Makes a program, the lock open meanwhile.
  private func make(_ place: Place) throws -> Program {
    // What a unit failed is not launched there again.
    for old in order where old.key == place.key { programs[old] = nil }
    order.removeAll { $0.key == place.key }
    lock.unlock()
    let made = Result {
      if let known = shared?[place.key, placement, place.avoided] { return known }
      let placed = try placed(place.key, avoiding: place.avoided)
      let made = (program: try compile(placed), fallbacks: placed.fallbacks)
      shared?[place.key, placement, place.avoided] = made
      return made
    }
    lock.lock()
    making.remove(place)
    lock.broadcast()
    let (program, fallbacks) = try made.get()
    for fallback in fallbacks where seen.insert(fallback).inserted { audit.append(fallback) }
    if order.count >= capacity { programs[order.removeFirst()] = nil }
    programs[place] = program
    forecast.add(program.graph, program.parts)
    order.append(place)
    return program
  }

  /// A graph with a unit for every operation.
  typealias Placed = (graph: Graph, units: [Int: UnitID], fallbacks: [Fallback])

  /// Traces a program, passes done, and finds a unit for every operation.
  func placed(_ key: Key, avoiding avoided: Set<UnitID> = []) throws -> Placed {
    let (graph, part) = try trace(key)
    return try place(graph.applying(Graph.standardPasses), part, avoiding: avoided)
  }

  /// Compiles a program for the units of its operations.
  func compile(_ placed: Placed) throws -> Program {
    try Program(placed.graph, over: weights, units: registry) { placed.units[$0.id] ?? .cpu }
  }

  /// The format of caches: f16 where any decoder program runs on a unit that stores f16.
  func cacheFormat(chunks: Int) throws -> DType {
    let units = (1...chunks).flatMap { index in
      Part.Phase.allCases.map { placement.unit(of: .chunk(index, $0)) }
    }
    return try units.contains { try registry.unit($0).profile.numerics.storage == .f16 }
      ? .f16 : .f32
  }

  /// Adds what the plans of all programs so far predict, with some rows of the embedding tables and the
  /// features of some soft tokens.
  func addPlans(to memory: inout PlannedMemory, rows: Int, softTokens: Int) {
    lock.lock()
    defer { lock.unlock() }
    memory.add("weights", forecast.weightByteCount)
    memory.add("converted weights", forecast.convertedByteCount)
    memory.add("intermediate results", forecast.arenaByteCount)
    memory.add("values", forecast.bindingByteCount)
    memory.add("features", forecast.featureByteCount(tokens: softTokens))
    memory.add("tables", forecast.tableByteCount(rows: rows))
  }

  /// What was sent away so far, one entry for each operation of each program.
  var fallbacks: [Fallback] {
    lock.lock()
    defer { lock.unlock() }
    return audit
  }

  /// Writes out what a unit without fused attention needs and finds a unit for every operation.
  ///
  /// What is placed on a unit to avoid is placed on the next one.
  func place(
    _ graph: Graph,
    _ part: Part,
    avoiding avoided: Set<UnitID> = []
  ) throws -> Placed {
    guard !avoided.isEmpty else { return try place(graph, part, on: .cpu, inPlaceOf: []) }
    let next = next(graph, part, avoiding: avoided)
    return try place(graph, part, on: next, inPlaceOf: avoided)
  }

  /// The same with one unit in place of some.
  func place(
    _ graph: Graph,
    _ part: Part,
    on next: UnitID,
    inPlaceOf avoided: Set<UnitID>
  ) throws -> Placed {
    let placement = avoided.reduce(placement) { $0.replacing($1, with: next) }
    var profiles: [UnitID: UnitProfile] = [:]
    for unit in placement.units.union([.cpu]) { profiles[unit] = try registry.unit(unit).profile }
    let fixed = Set(profiles.filter { $0.value.needsFixedShapes }.keys)
    // A unit whose sums are kept in fp16 rounds between the products and the softmax too.
    let narrow = Set(profiles.filter { $0.value.numerics.accumulation == .f16 }.keys)
    let written = try graph.applying([
      AttentionMasking { fixed.contains(placement.unit(of: $0, in: part)) },
      AttentionDecomposition { narrow.contains(placement.unit(of: $0, in: part)) },
      // Layers of one window share their mask.
      CommonSubexpressions(),
    ])
    var units: [Int: UnitID] = [:]
    var fallbacks: [Fallback] = []
    for node in written.nodes where !node.isSource {
      let wanted = placement.unit(of: node, in: part)
      units[node.id] = wanted
      guard case .declines(let reason)? = profiles[wanted]?.verdict(node, in: written) else {
        continue
      }
      units[node.id] = .cpu
      guard written.isOperation(node) else { continue }
      fallbacks.append(
        Fallback(
          program: graph.name,
          node: node.name,
          wanted: wanted,
          reason: reason,
          id: node.id
        )
      )
    }
    // A view of a constant belongs to whoever reads it.
    let readers = written.readers
    for node in written.nodes.reversed() where !node.isSource && written.isConstant(node.id) {
      units[node.id] = readers[node.id].first.flatMap { units[$0] } ?? units[node.id]
    }
    return (written, units, fallbacks)
  }

  func trace(_ key: Key) throws -> (Graph, Part) {
    switch key {
    case .vision(let patches, let taps):
      guard let vision = model.vision else { throw TroikaError.lacksTower("vision") }
      return (try vision.encoder(patches: patches, over: weights, taps: taps), key.part)
    case .audio(let frames, let taps):
      guard let audio = model.audio else { throw TroikaError.lacksTower("audio") }
      return (try audio.encoder(frames: frames, over: weights, taps: taps), .audio)
    case .embed(let tokens):
      return (try model.text.embedding(tokens: tokens, over: weights), .embed)
    case .chunk(let index, let shape, let phase, let taps):
      let part = Part.chunk(index, phase)
      let name = phase == .decode ? "\(part)" : "chunk\(index).prefill\(shape.tokens)"
      return (try model.text.chunk(shape, name: name, over: weights, taps: taps), part)
    case .head(let rows, let phase, let taps):
      return (try model.text.head(rows: rows, over: weights, taps: taps), .head(phase))
    }
  }
}
