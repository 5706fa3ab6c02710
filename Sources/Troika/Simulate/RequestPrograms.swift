import Devices
import Graph
import Models

/// The programs of a placement on a device that is known by its profile.
struct RequestPrograms {
  let book: WorkBook
  let placement: Placement
  let profile: DeviceProfile
  let decoder: DecoderPrograms
  let context: Int
  /// Token counts of the decoder's programs; empty where any count will do.
  let tokens: [Int]
  /// Tokens of a prefill batch at most.
  let batch: Int
  /// How a prompt is dealt out; nil for what costs least on the device.
  let choice: BatchChoice?
  /// Whether decode steps wait for caches to be copied back.
  var waitsForStateReturn: Bool { profile.waitsForStateReturn }

  /// The programs of a placement.
  ///
  /// - Parameter setting: cuts, context and token counts.
  /// - Throws: where a unit is not available here or not part of the profile.
  init(_ book: WorkBook, _ placement: Placement, _ profile: DeviceProfile, _ setting: Setting) throws
  {
    for unit in placement.units where profile.units[unit] == nil {
      throw DeviceError.unavailable(
        unit: unit.name,
        reason: "the profile \(profile.name) has no such unit"
      )
    }
    self.book = book
    self.placement = placement
    self.profile = profile
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
  func work(_ key: ProgramStore.Key) throws -> PlannedWork { try book.work(key, placement) }

  /// Whether a part of a program computes nothing and takes no time: the host's figures hold it.
  func isFree(_ run: PlannedWork.Run) -> Bool {
    guard run.isMovement, let unit = profile.units[run.unit] else { return false }
    return unit.cost(run.work).nanoseconds == 0
  }

  private func isFixed(_ part: Part) -> Bool {
    profile.units[placement.unit(of: part)]?.hasFixedShapes ?? false
  }

  /// Patches of the vision program that takes a picture.
  func visionShape(patches: Int) -> Int {
    guard isFixed(.vision), let vision = book.planned.model.configuration.vision else {
      return patches
    }
    return vision.bucket(patches: patches)
  }

  /// Mel frames of the audio program that takes a sound.
  func audioShape(frames: Int) -> Int {
    isFixed(.audio) ? AudioConfiguration.bucket(frames: frames) : frames
  }

  /// Real and compiled tokens of the batches of a prompt.
  ///
  /// - Throws: where a program cannot be traced.
  func batches(
    _ request: RequestShape,
    cutsAtMedia: Bool
  ) throws -> [(real: Int, shape: Int)] {
    var starts: [Int] = []
    if cutsAtMedia { starts = request.mediaRanges.map(\.range.lowerBound) }
    var result: [(real: Int, shape: Int)] = []
    var position = 0
    // A stretch of few rows is not worth launches of its own.
    for end in starts.filter({ $0 > 0 }) + [request.promptTokens]
    where end == request.promptTokens || end - position >= RequestShape.leastBatch {
      result += try batches(end - position)
      position = end
    }
    return result
  }

  private func batches(_ count: Int) throws -> [(real: Int, shape: Int)] {
    guard !tokens.isEmpty else {
      return stride(from: 0, to: count, by: batch).map { start in
        (min(batch, count - start), min(batch, count - start))
      }
    }
    var shapes: [Int]
    if let choice {
      shapes = BatchPlan(tokens: count, available: tokens, choice: choice).shapes
    } else {
      var costs: [Int: (fixed: Double, row: Double)] = [:]
      for shape in tokens { costs[shape] = try cost(shape) }
      shapes =
        BatchPlan(tokens: count, available: tokens) { shape, real in
          guard let cost = costs[shape] else { return 0 }
          return cost.fixed + cost.row * Double(real)
        }.shapes
    }
    var left = count
    return shapes.map { shape in
      defer { left -= min(shape, left) }
      return (min(shape, left), shape)
    }
  }

  /// Nanoseconds of a batch of padding alone, and what each real token adds.
  private func cost(_ shape: Int) throws -> (fixed: Double, row: Double) {
    var totals = (empty: 0.0, full: 0.0)
    for key in decoder.keys(tokens: shape, .prefill) {
      for run in try work(key).runs {
        guard let unit = profile.units[run.unit] else { continue }
        let part = shape == 1 ? 1 : 1 / Double(shape)
        totals.empty += unit.cost(run.work, fill: LaunchFill(rows: part)).nanoseconds
        totals.full += unit.cost(run.work).nanoseconds
      }
    }
    let host = profile.host[.batchNanoseconds]?.value ?? 0
    let row = shape > 1 ? (totals.full - totals.empty) / Double(shape - 1) : 0
    return (host + totals.empty - row, row)
  }
}

extension RequestShape {
  /// Rows that are worth a batch of their own.
  static let leastBatch = 32
}
