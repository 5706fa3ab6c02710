import Devices
import Graph
import Models

extension DeviceSimulator {
  /// The units that compile each part's programs, of some.
  ///
  /// - Throws: where a unit is not part of the profile.
  func allowedUnits(among units: [UnitID]) throws -> [Part: [UnitID]] {
    var allowed: [Part: [UnitID]] = [:]
    let decoder = Part.Phase.allCases.flatMap { phase in
      (1...chunkCount).map { Part.chunk($0, phase) } + [.head(phase)]
    }
    for unit in units {
      _ = try programs(Placement(rules: [.init("chunks", unit)]))
      let check = try check(Placement(base: unit))
      for part in [Part.vision, .audio] + decoder where check.refusals[part]?[unit] == nil {
        allowed[part, default: []].append(unit)
      }
    }
    return allowed
  }

  /// Nanoseconds of a decode step in the middle of the answer.
  ///
  /// - Throws: where a program cannot be traced.
  func stepNanoseconds(_ request: RequestShape, _ placement: Placement) throws -> Double {
    try stepTimeline(request, placement).events.reduce(0.0) { $0 + Double($1.nanoseconds) }
  }

  /// Joules of the prompt, or of all decode steps.
  ///
  /// - Throws: where a program cannot be traced, or the profile knows no watts.
  func joules(_ request: RequestShape, _ placement: Placement, isStep: Bool) throws -> Double {
    let timeline =
      isStep ? try stepTimeline(request, placement) : try promptTimeline(request, placement)
    guard let joules = Energy.joules(timeline, profile) else {
      throw ProfileError.knowsNoWatts(profile.name)
    }
    return joules.value * (isStep ? Double(request.maxTokens - 1) : 1)
  }

  /// What no placement of some parts can beat.
  ///
  /// - Throws: where a program cannot be traced.
  func leastTimes(
    _ request: RequestShape,
    _ parts: [(part: Part, units: [UnitID])]
  ) throws -> LeastTimes {
    LeastTimes(
      times: try parts.map { part, units in
        try units.map { unit in
          let others = units.filter { $0 != unit }
          // The head elsewhere, so that what counts is the chunk alone.
          let placement = Placement(
            rules: [.init(part.key, unit)] + (others.first.map { [.init("head", $0)] } ?? [])
          )
          return try leastTime(of: part, request, try programs(placement))
        }
      },
      units: parts.map(\.units)
    )
  }

  private func leastTime(
    of part: Part,
    _ request: RequestShape,
    _ programs: RequestPrograms
  ) throws -> LeastTimes.Time {
    switch part {
    case .vision, .audio:
      let pieces = request.pieces.filter { $0.part == part }
      let total = try pieces.reduce(0.0) { $0 + (try programs.encodeNanoseconds($1)) }
      return LeastTimes.Time(total: total, single: 0)
    case .chunk(let index, .decode):
      let fill = LaunchFill(position: request.promptTokens)
      let single = try programs.nanoseconds(chunk: index, tokens: 1, .last, .decode, fill) ?? 0
      return LeastTimes.Time(total: single, single: single)
    case .chunk(let index, .prefill):
      return try programs.leastPrefill(chunk: index, request.promptTokens)
    case .head, .embed: return LeastTimes.Time(total: 0, single: 0)
    }
  }
}

extension RequestPrograms {
  /// Nanoseconds of a medium's encoding.
  fileprivate func encodeNanoseconds(_ piece: RequestShape.Piece) throws -> Double {
    guard let (key, fill) = encoding(piece) else { return 0 }
    return try price(key, fill).runs.reduce(0) { $0 + $1.cost.nanoseconds }
  }

  /// Nanoseconds of a chunk's launch; nil where a step does not launch it.
  fileprivate func nanoseconds(
    chunk: Int,
    tokens: Int,
    _ wanted: TextDecoder.Rows,
    _ phase: Part.Phase,
    _ fill: LaunchFill
  ) throws -> Double? {
    let launches = decoder.launches(tokens: tokens, wanted: wanted, phase)
    guard let launch = launches.first(where: { $0.chunk == chunk }) else { return nil }
    let program = try price(.chunk(chunk, launch.shape, phase, taps: []), fill)
    return program.runs.reduce(0) { $0 + $1.cost.nanoseconds }
  }

  /// What a chunk takes for a prompt at least, whatever its batches are.
  ///
  /// A batch of some shape holds at most as many real tokens, so that a token costs at least a full
  /// batch's part of it.
  fileprivate func leastPrefill(chunk: Int, _ count: Int) throws -> LeastTimes.Time {
    var single = Double.infinity
    var token = Double.infinity
    for shape in tokens {
      let one = LaunchFill(rows: 1 / Double(shape), position: 0)
      let full = LaunchFill(position: 0)
      if let last = try nanoseconds(chunk: chunk, tokens: shape, .last, .prefill, one) {
        single = min(single, last)
      }
      for wanted in [TextDecoder.Rows.none, .last] {
        let time = try nanoseconds(chunk: chunk, tokens: shape, wanted, .prefill, full)
        token = min(token, (time ?? 0) / Double(shape))
      }
    }
    guard single.isFinite else { return LeastTimes.Time(total: 0, single: 0) }
    return LeastTimes.Time(total: max(single, token * Double(count)), single: single)
  }
}
