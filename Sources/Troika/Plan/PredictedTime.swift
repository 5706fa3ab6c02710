import Devices
import Foundation
import Graph
import Models

/// What a typical request asks one unit to do for one part.
struct PartWork: Hashable, Sendable {
  /// Work of one launch of a program.
  struct Program: Hashable, Sendable {
    var flops = 0
    /// Bytes of weights that are read whole.
    var weightByteCount = 0

    init(flops: Int, weightByteCount: Int) {
      self.flops = flops
      self.weightByteCount = weightByteCount
    }

    /// The work of those operations of a graph that a condition picks.
    init(_ graph: Graph, where isPicked: (Node) -> Bool) {
      var weights: Set<Int> = []
      for node in graph.nodes where !node.isSource && isPicked(node) {
        let inputs = node.inputs.map { graph.nodes[$0].type }
        flops += node.op.cost(inputs: inputs, result: node.type).flops
        weights.formUnion(node.inputs)
      }
      for id in weights where graph.isReadWhole(id) {
        guard case .constant(.weight) = graph.nodes[id].op else { continue }
        weightByteCount += graph.nodes[id].type.byteCount
      }
    }
  }

  /// The part.
  let name: String
  /// What is counted: a picture, a token.
  let subject: String
  var programs: [Program] = []

  /// Seconds at a rate: of each program the computing or the reading, whichever takes longer.
  func seconds(at rate: UnitRate) -> Double {
    programs.reduce(0) { sum, program in
      sum
        + max(
          Double(program.flops) / rate.flopsPerSecond,
          Double(program.weightByteCount) / rate.weightBytesPerSecond
        )
    }
  }
}

/// A software Vulkan device beside the processor that it computes on.
struct SoftwareDevice {
  /// How many times longer than the processor it may take.
  static let patience = 5.0

  let name: String
  let rate: UnitRate
  let processor: UnitRate

  /// One line with both figures of every part that takes more than five times as long there; nil
  /// where there is none.
  func warning(_ work: [PartWork]) -> String? {
    let slow = work.compactMap { part -> String? in
      let (own, other) = (part.seconds(at: rate), part.seconds(at: processor))
      guard own > other * Self.patience else { return nil }
      return "\(part.name) \(Self.text(own)) \(part.subject), \(Self.text(other)) on the cpu"
    }
    guard !slow.isEmpty else { return nil }
    return "gpu: \(name) is software, predicted: " + slow.joined(separator: "; ")
  }

  private static func text(_ seconds: Double) -> String {
    seconds < 0.999
      ? String(format: "%.3g ms", seconds * 1e3) : String(format: "%.1f s", seconds)
  }
}

extension SoftwareDevice {
  /// Which rates a prediction may go by.
  enum Rates {
    /// Units are measured where they are not known.
    case measured
    /// Nothing is computed.
    case known
  }

  /// The device of a placement that names `gpu`, where that is software and its rates can be had.
  init?(_ placement: Placement, _ registry: Registry, _ rates: UnitRates, _ allowed: Rates) {
    guard placement.units.contains(.gpu), let unit = try? registry.unit(.gpu) as? GPUUnit,
      unit.device.kind == .software, let cpu = try? registry.unit(.cpu)
    else { return nil }
    let units = [unit as any ComputeUnit, cpu]
    let found = allowed == .known ? units.compactMap { rates.known($0) } : try? rates.rates(units)
    guard let found, found.count == 2 else { return nil }
    self.init(name: unit.device.name, rate: found[0], processor: found[1])
  }
}

extension ProgramStore {
  /// A line where a software Vulkan device is predicted to be far slower than the processor; none
  /// where the placement names no such device.
  ///
  /// - Throws: where a program cannot be traced.
  func slowDeviceWarning(
    _ options: Troika.LoadOptions,
    layout: ChunkLayout,
    context: Int,
    _ rates: SoftwareDevice.Rates
  ) throws -> [String] {
    let threads = options.threads ?? ProcessInfo.processInfo.activeProcessorCount
    let kept = UnitRates(folder: options.gpu.cacheFolder, threads: threads)
    guard let device = SoftwareDevice(placement, registry, kept, rates) else { return [] }
    let decoder = try DecoderPrograms(
      in: self,
      text: model.text,
      layout: layout,
      placement: placement,
      context: context,
      batch: 1,
      hasFixedShapes: true,
      sharedLayers: options.sharedLayers
    )
    return try device.warning(deviceWork(decoder)).map { [$0] } ?? []
  }

  /// What the Vulkan device has to do for a picture, ten seconds of sound and a token.
  ///
  /// - Throws: where a program cannot be traced.
  func deviceWork(_ decoder: DecoderPrograms) throws -> [PartWork] {
    var keys: [(name: String, subject: String, keys: [Key])] = []
    if let vision = model.vision?.configuration {
      let patches = vision.softTokens * vision.patchesPerToken
      keys.append(("vision", "a picture", [.vision(patches: patches, taps: [])]))
    }
    if model.audio != nil {
      keys.append(("audio", "for 10 s of sound", [.audio(frames: 1000, taps: [])]))
    }
    keys.append(("decode", "a token", decoder.keys(tokens: 1, .decode)))
    return try keys.map { name, subject, keys in
      let programs = try keys.map { key in
        let (traced, part) = try trace(key)
        let placed = try place(traced.applying(Graph.standardPasses), part)
        return PartWork.Program(placed.graph) { placed.units[$0.id] == .gpu }
      }
      return PartWork(name: name, subject: subject, programs: programs)
    }
  }
}
