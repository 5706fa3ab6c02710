import Foundation
import Graph
import Models
import Troika

/// One combination of an experiment's axes.
struct SweepCell {
  /// Its place in the grid.
  let index: Int
  /// Which model.
  let model: Int
  /// Which request.
  let request: Int
  /// Token counts of prefill programs; nil for the usual.
  let prefill: [Int]?
  /// Positions of the caches; nil for the usual.
  let context: Int?
  /// Ends of the decoder's programs; nil for the usual.
  let chunks: [Int]?
  /// Where each part runs.
  let placement: NamedPlacement
  /// The profile that is simulated; nil where this machine is measured.
  let profile: Int?
}

/// An experiment, checked, as cells and the order of its rows.
struct Sweep {
  /// A model of the experiment, opened.
  struct OpenModel {
    /// Its programs.
    let planned: PlannedModel
    /// Its folder; nil where it has none.
    let folder: ModelFolder?
    /// The lengths of the experiment's requests.
    let shapes: [RequestShape]
  }

  /// A row: a cell and which of its repetitions.
  struct Key: Hashable, Comparable {
    let cell: Int
    let repetition: Int

    static func < (left: Key, right: Key) -> Bool {
      (left.cell, left.repetition) < (right.cell, right.repetition)
    }
  }

  let experiment: Experiment
  let models: [OpenModel]
  private(set) var cells: [SweepCell] = []

  /// Rows above which a grid counts as a mistake.
  static let most = 5_000_000

  /// Opens what an experiment names and checks every combination.
  ///
  /// - Throws: where a part of the grid cannot run, naming it.
  init(_ experiment: Experiment) throws {
    self.experiment = experiment
    models = try experiment.models.map { try Self.open($0, experiment) }
    for (index, model) in models.enumerated() {
      for chunks in experiment.chunks {
        var simulators: [[String]: DeviceSimulator] = [:]
        for named in try placements(model, chunks) {
          try checkUnits(named)
          let known = simulators[named.file.options]
          let simulator = try known ?? checked(named, model, chunks)
          simulators[named.file.options] = simulator
          try experiment.locating("placement '\(named.name)'") {
            try simulator.validate(named.placement)
          }
          add(named, index, chunks)
        }
      }
    }
    let rows = cells.reduce(0) { $0 + repetitions($1) }
    guard rows <= Self.most else {
      throw ExperimentError(
        "\(experiment.subject): expected at most \(Self.most) rows, came \(rows)"
      )
    }
  }

  // MARK: - The grid

  private static func open(
    _ model: Experiment.Model,
    _ experiment: Experiment
  ) throws -> OpenModel {
    let folder = try model.folder.map { try ModelFolder(path: $0) }
    let planned: PlannedModel
    if let folder {
      planned = PlannedModel(folder)
    } else {
      planned = try PlannedModel(model.synthetic ?? .e2b, model.weights ?? .int4)
    }
    let shapes = try experiment.requests.map { asked in
      try experiment.locating("request '\(asked.name)'") {
        guard let request = try asked.request() else {
          return try asked.lengths.shape(of: planned.model)
        }
        guard let folder else {
          throw ExperimentError(
            "\(experiment.subject): request '\(asked.name)': expected lengths alone with a "
              + "synthetic model, came a prompt"
          )
        }
        return try RequestShape(request, of: folder)
      }
    }
    return OpenModel(planned: planned, folder: folder, shapes: shapes)
  }

  /// The layout of a placement with an experiment's cuts.
  func layout(
    _ model: OpenModel,
    _ chunks: [Int]?,
    _ file: PlacementFile? = nil
  ) throws -> ChunkLayout {
    let count = model.planned.model.configuration.text.layers.count
    guard let chunks else { return try file?.layout(layerCount: count) ?? model.planned.layout }
    guard let layout = ChunkLayout(ends: chunks, layerCount: count) else {
      throw ExperimentError(
        "\(experiment.subject): field 'chunks': expected rising ends of which the last is \(count), "
          + "came \(chunks)"
      )
    }
    return layout
  }

  private func placements(_ model: OpenModel, _ chunks: [Int]?) throws -> [NamedPlacement] {
    let pieces = model.shapes.flatMap(\.pieces)
    var towers: [String] = []
    if pieces.contains(where: \.isPicture) { towers.append("vision") }
    if pieces.contains(where: \.isSound) { towers.append("audio") }
    var seen: Set<String> = []
    return try experiment.placements.flatMap { source -> [NamedPlacement] in
      let count = try layout(model, chunks, source.file).ranges.count
      let parts = towers + (1...count).map { "chunk\($0)" } + ["head"]
      return source.placements(parts: parts, chunks: count, seed: experiment.seed)
    }.filter { seen.insert($0.name).inserted }
  }

  /// Refuses units that a profile does not have.
  private func checkUnits(_ named: NamedPlacement) throws {
    for (name, profile) in experiment.profiles {
      let missing = named.placement.units.filter { unit in
        profile.units[unit] == nil
          && (unit != named.placement.base || named.placement.rules.isEmpty)
      }
      if let unit = missing.min(by: { $0.name < $1.name }) {
        let units = profile.units.keys.map(\.name).sorted().joined(separator: ", ")
        throw ExperimentError(
          "\(experiment.subject): placement '\(named.name)': expected units of \(name) (\(units)), "
            + "came \(unit.name)"
        )
      }
    }
  }

  /// Refuses token counts, contexts and requests that do not fit each other.
  ///
  /// - Returns: a simulator that knows what units refuse.
  private func checked(
    _ named: NamedPlacement,
    _ model: OpenModel,
    _ chunks: [Int]?
  ) throws -> DeviceSimulator {
    var last: DeviceSimulator?
    for prefill in experiment.prefill {
      for context in experiment.contexts {
        let options = try load(named, model, prefill: prefill, context: context, chunks: chunks)
        let simulator = try experiment.locating("field 'contexts' or 'prefill'") {
          try DeviceSimulator(
            model.planned,
            options,
            on: DeviceProfile(name: "", summary: ""),
            sharedLayers: nil,
            batches: nil
          )
        }
        if let least = options.prefillShapes?.min(), least > simulator.context {
          throw ExperimentError(
            "\(experiment.subject): field 'prefill': expected a number of at most the context, "
              + "\(simulator.context), came \(least)"
          )
        }
        for (asked, shape) in zip(experiment.requests, model.shapes)
        where shape.promptTokens >= simulator.context {
          throw ExperimentError(
            "\(experiment.subject): request '\(asked.name)': expected fewer tokens than the "
              + "context, \(simulator.context), came \(shape.promptTokens)"
          )
        }
        last = simulator
      }
    }
    guard let last else {
      throw ExperimentError("\(experiment.subject): expected contexts, came none")
    }
    return last
  }

  private mutating func add(_ placement: NamedPlacement, _ index: Int, _ chunks: [Int]?) {
    let targets =
      experiment.profiles.indices.map { Int?.some($0) } + (experiment.isMeasured ? [nil] : [])
    for request in experiment.requests.indices {
      for prefill in experiment.prefill {
        for context in experiment.contexts {
          for target in targets {
            cells.append(
              SweepCell(
                index: cells.count,
                model: index,
                request: request,
                prefill: prefill,
                context: context,
                chunks: chunks,
                placement: placement,
                profile: target
              )
            )
          }
        }
      }
    }
  }

  /// How a cell's model is loaded.
  func load(
    _ named: NamedPlacement,
    _ model: OpenModel,
    prefill: [Int]?,
    context: Int?,
    chunks: [Int]?
  ) throws -> Troika.LoadOptions {
    Troika.LoadOptions(
      placement: named.placement,
      layout: try layout(model, chunks, named.file),
      context: context,
      prefillShapes: prefill ?? named.file.prefill,
      sharedLayers: named.file.sharedLayers ?? .last,
      batches: named.file.batches ?? .smallest,
      engine: named.file.engine,
      threads: experiment.threads,
      gpu: Options.gpu(named: experiment.gpu),
      allowsFallback: named.file.allowsFallback ?? true
    )
  }

  // MARK: - Rows

  /// Rows of a cell: what is simulated comes out the same every time.
  private func repetitions(_ cell: SweepCell) -> Int {
    cell.profile == nil ? experiment.repetitions : 1
  }

  /// All rows in the order they are made: rounds, each in a random order of its own.
  var order: [Key] {
    var numbers = SplitMix(seed: experiment.seed)
    let rounds = cells.contains { $0.profile == nil } ? experiment.repetitions : 1
    return (0..<rounds).flatMap { round in
      numbers.shuffled(
        cells.filter { round < repetitions($0) }.map { Key(cell: $0.index, repetition: round) }
      )
    }
  }
}

extension PlacementSource {
  /// The file of what it starts from.
  fileprivate var file: PlacementFile? {
    switch self {
    case .named(let named), .moves(_, let named, _): named.file
    case .random: nil
    }
  }
}

extension RequestShape.Piece {
  fileprivate var isPicture: Bool {
    switch self {
    case .image, .frame: true
    case .text, .sound: false
    }
  }

  fileprivate var isSound: Bool {
    if case .sound = self { true } else { false }
  }
}
