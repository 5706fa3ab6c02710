public import Devices
public import Graph
import Models

/// The programs of a placement on a device that is known by its profile.
struct RequestPrograms {
  let prices: PriceBook
  let placement: Placement
  let decoder: DecoderPrograms
  let context: Int
  /// Token counts of the decoder's programs; empty where any count will do.
  let tokens: [Int]
  /// Tokens of a prefill batch at most.
  let batch: Int
  /// How a prompt is dealt out; nil for what costs least on the device.
  let choice: BatchChoice?
  /// The device.
  var profile: DeviceProfile { prices.profile }
  /// Whether decode steps wait for caches to be copied back.
  var waitsForStateReturn: Bool { profile.waitsForStateReturn }

  /// The programs of a placement.
  ///
  /// - Parameters:
  ///   - prices: the device with what programs take there.
  ///   - placement: where each part runs.
  ///   - setting: cuts, context and token counts.
  /// - Throws: where a unit is not available here or not part of the profile.
  init(_ prices: PriceBook, _ placement: Placement, _ setting: Setting) throws {
    let (profile, book) = (prices.profile, prices.works)
    try profile.check(placement)
    self.prices = prices
    self.placement = placement
    context = setting.context
    choice = setting.choice
    let batch = CompiledShapes.batch(setting.prefill, context: setting.context)
    self.batch = batch
    let counts = Set([1] + setting.prefill).filter { $0 < batch }.sorted() + [batch]
    let chunks = setting.layout.ranges.indices.flatMap { index in
      Part.Phase.allCases.map { placement.unit(of: .chunk(index + 1, $0)) }
    }
    let units = placement.globUnits.union(chunks)
    let isFixed = units.contains { profile.units[$0]?.hasFixedShapes ?? false }
    tokens = isFixed ? counts : []
    decoder = try DecoderPrograms(
      in: book.store(placement),
      text: book.planned.model.text,
      layout: setting.layout,
      placement: placement,
      context: context,
      batch: batch,
      hasFixedShapes: isFixed,
      sharedLayers: setting.sharedLayers
    )
  }

  /// What a simulation assumes of a decoder's programs.
  struct Setting {
    var layout: ChunkLayout
    var context: Int
    var prefill: [Int]
    var choice: BatchChoice?
    var sharedLayers: TextDecoder.SharedLayers
  }

  /// The work of a program.
  ///
  /// - Throws: where it cannot be traced.
  func work(_ key: ProgramStore.Key) throws -> PlannedWork {
    try prices.works.work(key, placement)
  }

  /// What a program takes.
  ///
  /// - Throws: where it cannot be traced.
  func price(_ key: ProgramStore.Key, _ fill: LaunchFill) throws -> PriceBook.Program {
    try prices.program(key, fill, placement)
  }

  private func isFixed(_ part: Part) -> Bool {
    profile.units[placement.unit(of: part)]?.hasFixedShapes ?? false
  }

  /// The program that encodes a medium, and how full it is; text has none.
  func encoding(_ piece: RequestShape.Piece) -> (key: ProgramStore.Key, fill: LaunchFill)? {
    switch piece {
    case .text: return nil
    case .image(let patches, _), .frame(let patches, _):
      let vision = prices.works.planned.model.configuration.vision
      let shape = isFixed(.vision) ? vision?.bucket(patches: patches) ?? patches : patches
      return (.vision(patches: shape, taps: []), LaunchFill(rows: Double(patches) / Double(shape)))
    case .sound(let frames, _):
      let shape = isFixed(.audio) ? AudioConfiguration.bucket(frames: frames) : frames
      return (.audio(frames: shape, taps: []), LaunchFill(rows: Double(frames) / Double(shape)))
    }
  }

  /// Every program of a request, without repetition; of one phase where that is asked for.
  ///
  /// - Throws: where a program cannot be traced.
  func keys(_ request: RequestShape, _ phase: Part.Phase?) throws -> [ProgramStore.Key] {
    var keys: [ProgramStore.Key] = []
    if phase != .decode {
      keys += request.pieces.compactMap { encoding($0)?.key }
      let batches = try batches(request, cutsAtMedia: false)
      for (index, batch) in batches.enumerated() {
        keys.append(.embed(tokens: batch.shape))
        let isLast = index == batches.count - 1
        keys +=
          isLast
          ? decoder.keys(tokens: batch.shape, .prefill)
          : decoder.launches(tokens: batch.shape, wanted: .none, .prefill).map {
            .chunk($0.chunk, $0.shape, .prefill, taps: [])
          }
      }
    }
    if phase != .prefill, request.maxTokens > 1 {
      keys += [.embed(tokens: 1)] + decoder.keys(tokens: 1, .decode)
    }
    var seen: Set<ProgramStore.Key> = []
    return keys.filter { seen.insert($0).inserted }
  }

  /// Real and compiled tokens of the batches of a prompt.
  ///
  /// - Throws: where a program cannot be traced.
  func batches(
    _ request: RequestShape,
    cutsAtMedia: Bool
  ) throws -> [(real: Int, shape: Int)] {
    var starts: [Int] = []
    if cutsAtMedia {
      let first = placement.unit(of: .chunk(1, .prefill))
      starts = request.mediaRanges
        .filter { placement.unit(of: request.pieces[$0.piece].part) != first }
        .map(\.range.lowerBound)
    }
    let stretches = PromptBatches.stretches(of: 0..<request.promptTokens, cuts: starts)
    return try stretches.flatMap { try batches($0.count) }
  }

  private func batches(_ count: Int) throws -> [(real: Int, shape: Int)] {
    guard !tokens.isEmpty else {
      return PromptBatches.lengths(of: count, batch: batch).map { ($0, $0) }
    }
    let shapes = try prices.shapes(of: count, tokens, prefillUnits) { try plannedShapes(count) }
    return Array(zip(PromptBatches.lengths(of: count, shapes: shapes), shapes))
  }

  /// The units of the prefill programs: what their times depend on.
  private var prefillUnits: [UnitID] {
    decoder.layout.ranges.indices.map { placement.unit(of: .chunk($0 + 1, .prefill)) }
      + [placement.unit(of: .head(.prefill))]
  }

  private func plannedShapes(_ count: Int) throws -> [Int] {
    if let choice {
      return BatchPlan(tokens: count, available: tokens, choice: choice).shapes
    }
    let costs = try tokens.map { (shape: $0, cost: try cost($0)) }
    return
      BatchPlan(tokens: count, available: tokens) { shape, real in
        guard let entry = costs.first(where: { $0.shape == shape }) else { return 0 }
        return entry.cost.fixed + entry.cost.row * Double(real)
      }.shapes
  }

  /// Nanoseconds of a batch of padding alone, and what each real token adds.
  private func cost(_ shape: Int) throws -> (fixed: Double, row: Double) {
    var totals = (empty: 0.0, full: 0.0)
    for key in decoder.keys(tokens: shape, .prefill) {
      let part = LaunchFill(rows: 1 / Double(shape))
      totals.empty += try price(key, part).runs.reduce(0) { $0 + $1.cost.nanoseconds }
      totals.full += try price(key, LaunchFill()).runs.reduce(0) { $0 + $1.cost.nanoseconds }
    }
    let host = profile.host[.batchNanoseconds]?.value ?? 0
    let row = shape > 1 ? (totals.full - totals.empty) / Double(shape - 1) : 0
    return (host + totals.empty - row, row)
  }
}

extension DeviceProfile {
  /// Checks that the device has every unit of a placement.
  ///
  /// - Throws: `DeviceError.unavailable` for the first that it lacks.
  public func check(_ placement: Placement) throws(DeviceError) {
    for unit in placement.units.sorted(by: { $0.name < $1.name }) where units[unit] == nil {
      throw .unavailable(unit: unit.name, reason: "the profile \(name) has no such unit")
    }
  }
}
