import Devices
import Foundation
import Graph
import Models

/// Turns published rows into numbers that a profile predicts.
///
/// Works of programs are traced once; a prediction prices them.
struct PublishedChecks {
  private let planned: PlannedModel
  private let book: WorkBook

  init() throws {
    planned = try PlannedModel(.e2b, .int4)
    let registry = Registry(
      planningWith: 1,
      engine: EngineOptions(),
      gpu: GPUOptions(),
      hasGPU: false
    )
    book = WorkBook(planned, registry)
  }

  /// What a row says in numbers; none for rows of other systems or of words.
  ///
  /// - Throws: `JSONError` where a number is none.
  func checks(_ row: PublishedRow) throws -> [PublishedCheck] {
    let what = row.what
    if what.hasPrefix("decode,") { return try decode(row) }
    if what.hasPrefix("decode chunk"), let unit = UnitID(unit: row.unit) {
      return try decodeChunk(row, unit)
    }
    if what.hasPrefix("prefill graph") { return try prefill(row) }
    if what.hasPrefix("prefill chunk") { return try sweep(row) }
    if what.hasPrefix("vision encode") { return try vision(row) }
    if what.hasPrefix("host work") { return try host(row) }
    if what.hasPrefix("host share") { return hostShare(row) }
    if what.hasPrefix("KV copy-back") { return try copyBack(row) }
    if what.hasPrefix("overlap factor") { return try overlap(row) }
    if what.contains("topk") { return try handover(row) }
    return []
  }

  // MARK: - The decoder

  private func decode(_ row: PublishedRow) throws -> [PublishedCheck] {
    let times = try row.numbers("chunkMs")
    guard let unit = UnitID(unit: row.unit), !times.isEmpty else { return [] }
    let context = try row.node.integer("context", or: 2048)
    let works = try decodeWorks(unit, context: context, layout: layout(row, count: times.count))
    guard works.count == times.count else { return [] }
    var checks = zip(works, times).enumerated().map { index, pair in
      row.check("chunk \(index + 1) decode at \(context), ms", pair.1) {
        Self.milliseconds(pair.0, $0)
      }
    }
    let step = StepPrediction(works: works, context: context)
    for value in try row.numbers("stepMs") {
      checks.append(
        row.check("step at \(context), ms", value) { step.milliseconds($0, returnsStates: false) }
      )
    }
    for value in try row.numbers("tokensPerSecond") {
      checks.append(
        row.check("tokens/s at \(context)", value) {
          1e3 / step.milliseconds($0, returnsStates: false)
        }
      )
    }
    return checks
  }

  /// Cuts of a row: its own, else the usual ones for so many chunks.
  private func layout(_ row: PublishedRow, count: Int) throws -> ChunkLayout {
    let layers = planned.model.configuration.text.layers.count
    var ends: [Int] = []
    for range in try row.node.optional("chunks")?.elements() ?? [] {
      ends.append(try range.elements().last?.integer() ?? 0)
    }
    if ends.isEmpty, count == 3 { ends = [8, 25, 35] }
    return ChunkLayout(ends: ends, layerCount: layers) ?? planned.layout
  }

  private func programs(
    _ unit: UnitID,
    context: Int,
    layout: ChunkLayout,
    prefill: [Int]
  ) throws -> RequestPrograms {
    var profile = DeviceProfile(name: "paper", summary: "")
    profile.units[unit] = DeviceProfile.Unit()
    profile.units[unit]?.hasFixedShapes = true
    profile.units[.cpu] = DeviceProfile.Unit()
    return try RequestPrograms(
      PriceBook(book, profile),
      Placement(rules: [
        .init("chunks", unit), .init("head", unit), .init("vision", unit), .init("audio", unit),
      ]),
      .init(
        layout: layout,
        context: context,
        prefill: prefill,
        choice: .fewest,
        sharedLayers: .all
      )
    )
  }

  private func decodeWorks(
    _ unit: UnitID,
    context: Int,
    layout: ChunkLayout
  ) throws -> [PlannedWork] {
    let programs = try programs(unit, context: context, layout: layout, prefill: [512])
    return try programs.decoder.keys(tokens: 1, .decode).map(programs.work)
  }

  private func decodeChunk(_ row: PublishedRow, _ unit: UnitID) throws -> [PublishedCheck] {
    let times = try row.numbers("ms")
    guard let number = row.chunkNumbers.first, let low = times.min(), let high = times.max() else {
      return []
    }
    let works = try decodeWorks(unit, context: 2048, layout: planned.layout)
    guard works.indices.contains(number - 1) else { return [] }
    let work = works[number - 1]
    return [
      row.check("chunk \(number) decode at 2048, ms", low...high) { Self.milliseconds(work, $0) }
    ]
  }

  private func prefill(_ row: PublishedRow) throws -> [PublishedCheck] {
    let times = try row.numbers("chunkMs")
    guard let unit = UnitID(unit: row.unit), let real = row.number(before: "real"),
      let tokens = row.value(of: "N"), !times.isEmpty
    else { return [] }
    let programs = try programs(
      unit,
      context: 2048,
      layout: layout(row, count: times.count),
      prefill: [tokens]
    )
    let works = try programs.decoder.keys(tokens: tokens, .prefill).map(programs.work)
    guard works.count == times.count else { return [] }
    let fill = LaunchFill(rows: Double(real) / Double(tokens))
    var checks = zip(works, times).enumerated().map { index, pair in
      row.check("chunk \(index + 1) prefill\(tokens), \(real) real, ms", pair.1) {
        Self.milliseconds(pair.0, $0, fill) + (index == 0 ? Self.wake($0, unit) : 0)
      }
    }
    for total in try row.numbers("totalMs") {
      checks.append(
        row.check("prefill\(tokens), \(real) real, ms", total) { profile in
          works.reduce(Self.wake(profile, unit)) { $0 + Self.milliseconds($1, profile, fill) }
            + Self.batchHost(profile, tokens: real)
        }
      )
    }
    return checks
  }

  private func sweep(_ row: PublishedRow) throws -> [PublishedCheck] {
    let (counts, times) = (try row.numbers("tokens"), try row.numbers("ms"))
    guard let unit = UnitID(unit: row.unit), let number = row.chunkNumbers.first else { return [] }
    return try zip(counts, times).compactMap { count, time in
      let tokens = Int(count)
      let programs = try programs(unit, context: 2048, layout: planned.layout, prefill: [tokens])
      let works = try programs.decoder.keys(tokens: tokens, .prefill).map(programs.work)
      guard works.indices.contains(number - 1) else { return nil }
      let (work, real) = (works[number - 1], min(row.number(before: "real") ?? tokens, tokens))
      let fill = LaunchFill(rows: Double(real) / Double(tokens))
      return row.check("chunk \(number) prefill\(tokens), \(real) real, ms", time) {
        Self.milliseconds(work, $0, fill)
      }
    }
  }

  // MARK: - Towers and host

  private func vision(_ row: PublishedRow) throws -> [PublishedCheck] {
    guard let unit = UnitID(unit: row.unit), let patches = row.tupleNumber else { return [] }
    let programs = try programs(unit, context: 2048, layout: planned.layout, prefill: [512])
    let work = try programs.work(.vision(patches: patches, taps: []))
    let fill = LaunchFill(rows: min(1, Double(row.gridPatches ?? patches) / Double(patches)))
    var checks = try row.numbers("ms").map { time in
      row.check("vision of \(patches) patches, ms", time) {
        Self.milliseconds(work, $0, fill, tower: .vision)
      }
    }
    for time in try row.numbers("preprocessMs") {
      checks.append(
        row.check("picture preparation, ms", time) {
          ($0.host[.imageNanoseconds]?.value ?? 0) / 1e6
        }
      )
    }
    return checks
  }

  private func host(_ row: PublishedRow) throws -> [PublishedCheck] {
    let context = try row.node.integer("context", or: 2048)
    guard let host = try row.node.optional("hostMs") else { return [] }
    let step = try host.double("embedding", or: 0) + host.double("mask", or: 0)
    return [
      row.check("host of a step at \(context), ms", step) {
        StepPrediction.host($0, context: context)
      }
    ]
  }

  private func hostShare(_ row: PublishedRow) -> [PublishedCheck] {
    [10, 348].map { tokens in
      let published = 4.8 + 0.80 * Double(tokens)
      return row.check("host of a prefill of \(tokens), ms", published) {
        Self.batchHost($0, tokens: tokens)
      }
    }
  }

  private func copyBack(_ row: PublishedRow) throws -> [PublishedCheck] {
    let works = try decodeWorks(.neuralEngine, context: 2048, layout: planned.layout)
    let step = StepPrediction(works: works, context: 2048)
    return try zip(row.numbers("stepMs"), [true, false]).map { time, returns in
      row.check("step \(returns ? "with" : "without") copy-back, ms", time) {
        step.milliseconds($0, returnsStates: returns)
      }
    }
  }

  // MARK: - Units together

  private func overlap(_ row: PublishedRow) throws -> [PublishedCheck] {
    let factors = try row.numbers("factor")
    let units = row.unit.split(separator: "|").compactMap { UnitID(unit: String($0)) }
    let chunks = row.chunkNumbers
    guard units.count == 2, chunks.count == 2, let low = factors.min(), let high = factors.max()
    else { return [] }
    let works = try zip(units, chunks).map { unit, chunk in
      try decodeWorks(unit, context: 2048, layout: planned.layout)[chunk - 1]
    }
    // A published overlap of nearly nothing leaves room for none; of nearly all, for all.
    let published = (low < 0.1 ? 0 : low)...(high > 0.9 ? 1 : high)
    return [
      row.check(
        "overlap \(row.unit.replacingOccurrences(of: "neuralEngine", with: "engine"))",
        published
      ) {
        OverlapPrediction(works: works, units: units).factor($0)
      }
    ]
  }

  private func handover(_ row: PublishedRow) throws -> [PublishedCheck] {
    let times = try row.numbers("ms")
    let name = row.unit.split(separator: "-").first.map(String.init) ?? ""
    guard times.count == 2, let unit = UnitID(unit: name) else { return [] }
    let (before, after) = (times[0], times[1])
    return [
      row.check("topk behind \(unit), ms", after) {
        before + ($0.units[unit]?[.handoverNanoseconds] ?? 0) / 1e6
      }
    ]
  }

  // MARK: - Pricing

  static func milliseconds(
    _ work: PlannedWork,
    _ profile: DeviceProfile,
    _ fill: LaunchFill = LaunchFill(),
    tower: Tower? = nil
  ) -> Double {
    work.runs.reduce(0) { sum, run in
      guard let unit = profile.units[run.unit], !run.isMovement else { return sum }
      return sum + unit.cost(run.work, fill: fill, tower: tower).nanoseconds / 1e6
    }
  }

  static func wake(_ profile: DeviceProfile, _ unit: UnitID) -> Double {
    (profile.units[unit]?[.wakeNanoseconds] ?? 0) / 1e6
  }

  static func batchHost(_ profile: DeviceProfile, tokens: Int) -> Double {
    let figures = profile.host
    return
      ((figures[.batchNanoseconds]?.value ?? 0)
      + (figures[.batchTokenNanoseconds]?.value ?? 0) * Double(tokens)) / 1e6
  }
}
