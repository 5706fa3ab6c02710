import Foundation
public import Devices
public import Graph
public import Models

/// Compiled programs of one model and placement, made when first needed and kept.
final class ProgramStore: @unchecked Sendable {
  enum Key: Hashable {
    case vision(patches: Int, taps: Set<String>)
    case audio(frames: Int, taps: Set<String>)
    case embed(tokens: Int)
    case chunk(Int, TextDecoder.ChunkShape, Part.Phase, taps: Set<String>)
    case head(rows: Int, Part.Phase, taps: Set<String>)
  }

  private let model: Gemma4
  private let weights: any WeightSource
  private let registry: Registry
  private let placement: Placement
  private let lock = NSLock()
  private var programs: [Key: Program] = [:]
  private var order: [Key] = []
  /// Programs kept at most; shapes of prompts vary without end.
  private let capacity = 96

  init(
    model: Gemma4,
    weights: any WeightSource,
    registry: Registry,
    placement: Placement
  ) {
    self.model = model
    self.weights = weights
    self.registry = registry
    self.placement = placement
  }

  func program(_ key: Key) throws -> Program {
    lock.lock()
    defer { lock.unlock() }
    if let program = programs[key] { return program }
    let (graph, part) = try trace(key)
    let program = try Program(
      graph.applying(Graph.standardPasses),
      over: weights,
      units: registry,
      placing: { [placement] node in placement.unit(of: node, in: part) }
    )
    if order.count >= capacity { programs[order.removeFirst()] = nil }
    programs[key] = program
    order.append(key)
    return program
  }

  private func trace(_ key: Key) throws -> (Graph, Part) {
    switch key {
    case .vision(let patches, let taps):
      guard let vision = model.vision else { throw TroikaError.lacksTower("vision") }
      return (try vision.encoder(patches: patches, over: weights, taps: taps), .vision)
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
