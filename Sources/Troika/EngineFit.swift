public import Models
import Devices
import Graph

/// Whether the neural engine compiles the decoder's programs as they are cut, and a cut that it does.
public struct EngineFit: Sendable {
  /// What the user should know, one line a program that is refused and one with a cut that fits.
  public let warnings: [String]

  /// Judges the programs of a bundle to be.
  ///
  /// - Throws: where a tensor is absent.
  public init(_ writer: BundleWriter, _ source: BundleSource) throws {
    let tensors = try source.model.storedTensors(writer.weights, writer.layout, over: source.rows)
    try self.init(source.model, writer.layout, over: StoredTypes(tensors))
  }

  /// Judges cuts of a model whose tensors have these types.
  init(_ model: Gemma4, _ layout: ChunkLayout, over types: any WeightSource) throws {
    let limits = UnitProfile.neuralEngine.limits
    let refusals = try layout.ranges.enumerated().compactMap { index, range -> String? in
      let graph = try model.chunk(range, over: types)
      return limits.refusal(of: graph).map {
        Self.refusal("chunk\(index + 1)", .neuralEngine, $0)
      }
    }
    guard !refusals.isEmpty else {
      warnings = []
      return
    }
    warnings = try refusals + [Self.advice(model, limits, over: types)]
  }

  /// What is said of a program that a unit refuses.
  static func refusal(_ program: String, _ unit: UnitID, _ reason: String) -> String {
    "\(program): \(unit) takes only \(reason); it runs on the cpu"
  }

  /// What is said of all programs that a placement's units refuse: a line a program and limit,
  /// whatever its phases.
  static func refusals(_ entries: [RefusedPrograms.Entry]) -> [String] {
    struct Key: Hashable {
      let program: String
      let unit: UnitID
      let reason: String
    }
    var keys: [Key] = []
    var phases: [Key: [Part.Phase]] = [:]
    for entry in entries {
      let (program, phase) = entry.part.programAndPhase
      let key = Key(program: program, unit: entry.unit, reason: entry.reason)
      if phases[key] == nil { keys.append(key) }
      phases[key, default: []] += phase.map { [$0] } ?? []
    }
    return keys.map { key in
      let names = (phases[key] ?? []).map(\.rawValue)
      let phase = names.isEmpty ? "" : " (" + names.joined(separator: " and ") + ")"
      return refusal(key.program + phase, key.unit, key.reason)
    }
  }

  /// A cut that fits limits, in one line.
  static func advice(
    _ model: Gemma4,
    _ limits: ProgramLimits,
    over types: any WeightSource
  ) throws -> String {
    let fit = try layout(model, limits, over: types)
    let ends = fit?.ranges.map { String($0.upperBound) }.joined(separator: ",")
    return ends.map { "--chunks \($0) fits" } ?? "--chunks: no cut fits, a layer is too large"
  }

  /// The cut with the fewest programs that all fit, of which the largest is smallest.
  static func layout(
    _ model: Gemma4,
    _ limits: ProgramLimits,
    over types: any WeightSource
  ) throws -> ChunkLayout? {
    let count = model.configuration.text.layers.count
    func fits(_ range: Range<Int>, _ bytes: Int) throws -> Bool {
      var tight = limits
      tight.weightByteCount = min(bytes, limits.weightByteCount ?? bytes)
      return try tight.refusal(of: model.chunk(range, over: types)) == nil
    }
    func ends(_ bytes: Int) throws -> [Int]? {
      var ends: [Int] = []
      var start = 0
      while start < count {
        var end = start
        while end < count, try fits(start..<end + 1, bytes) { end += 1 }
        guard end > start else { return nil }
        ends.append(end)
        start = end
      }
      return ends
    }
    guard var best = try ends(.max) else { return nil }
    var (low, high) = (0, limits.weightByteCount ?? 1 << 40)
    for _ in 0..<12 {
      let middle = (low + high) / 2
      if let tighter = try ends(middle), tighter.count <= best.count {
        (best, high) = (tighter, middle)
      } else {
        low = middle
      }
    }
    return ChunkLayout(ends: best, layerCount: count)
  }
}

extension Part {
  /// The program without its phase, and the phase where there are two.
  fileprivate var programAndPhase: (String, Phase?) {
    switch self {
    case .chunk(let index, let phase): ("chunk\(index)", phase)
    case .head(let phase): ("head", phase)
    case .vision, .audio, .embed: (description, nil)
    }
  }
}

extension Gemma4 {
  /// The decode program of some layers, with the head where they are the last.
  fileprivate func chunk(_ range: Range<Int>, over types: any WeightSource) throws -> Graph {
    let own = types.type(of: "lm_head.weight") != nil ? text.untied : text
    let shape = TextDecoder.ChunkShape(
      layers: range,
      tokens: 1,
      rows: .all,
      slidingCacheRows: 1,
      fullCacheRows: 1,
      includesHead: range.upperBound == configuration.text.layers.count
    )
    return try own.chunk(shape, name: "chunk", over: types)
  }
}
