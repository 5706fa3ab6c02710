import Devices
import Foundation
public import Graph
import Media
import Models

/// Holds a profile of this machine to measured requests over many placements.
public struct HostValidation: Sendable {
  /// One placement.
  public struct Line: Sendable {
    /// Where each part ran.
    public let placement: Placement
    /// Tokens of the prompt.
    public let promptTokens: Int
    /// Nanoseconds of each whole request.
    public let samples: [Double]
    /// Nanoseconds that the profile predicts.
    public var prediction = Estimate.zero

    /// Half of the requests took less.
    public var measured: Double { SampleSummary(samples).median }
    /// The relative error of the prediction.
    public var error: Double { prediction.value / measured - 1 }
    /// How far a single request lies from the others' median, relatively: half of them lie nearer.
    public var noise: Double {
      let deviations = samples.indices.map { index -> Double in
        var others = samples
        others.remove(at: index)
        return abs(samples[index] / SampleSummary(others).median - 1)
      }
      return SampleSummary(deviations).median
    }
  }

  /// The placements.
  public internal(set) var lines: [Line] = []

  /// A quantile of the absolute errors.
  public func error(_ share: Double) -> Double {
    SampleSummary.quantile(share, lines.map { abs($0.error) }.sorted())
  }

  /// The median of the noise of single requests.
  public var noise: Double { SampleSummary(lines.map(\.noise)).median }

  /// Kendall's rank correlation between predictions and measurements.
  public var rankCorrelation: Double {
    var (agree, all) = (0, 0)
    for (index, left) in lines.enumerated() {
      for right in lines[(index + 1)...] where left.measured != right.measured {
        all += 1
        let measured = left.measured < right.measured
        let predicted = left.prediction.value < right.prediction.value
        agree += measured == predicted ? 1 : -1
      }
    }
    return all > 0 ? Double(agree) / Double(all) : 0
  }
}

/// Requests over random placements, run in turns.
final class ValidationRequests {
  private let folder: ModelFolder
  private let registry: Registry
  private var cases: [(troika: Troika, placement: Placement, request: Request)] = []
  private var lines: [(shape: RequestShape, samples: [Double])] = []
  private let workFolder: URL

  /// Random placements of a seed over units.
  ///
  /// - Parameters:
  ///   - folder: the model.
  ///   - registry: the units.
  ///   - units: those that are placed on.
  ///   - threads: worker threads of each.
  ///   - count: how many placements.
  ///   - mediaEvery: one request in so many has a picture, and another one a sound; 0 for none.
  ///   - seed: which.
  /// - Throws: where a unit is not available, or a file cannot be written.
  init(
    _ folder: ModelFolder,
    _ registry: Registry,
    units: [UnitID],
    threads: Int,
    count: Int,
    mediaEvery: Int,
    seed: UInt64
  ) throws {
    self.folder = folder
    self.registry = registry
    workFolder = FileManager.default.temporaryDirectory
      .appendingPathComponent("troika-validate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: workFolder, withIntermediateDirectories: true)
    let picture = workFolder.appendingPathComponent("picture.bmp")
    try Data(MadeUpMedia.bmp(640, 640)).write(to: picture)
    let sound = workFolder.appendingPathComponent("sound.wav")
    try Data(MadeUpMedia.wav(seconds: 3)).write(to: sound)
    var random = SplitMix(seed: seed)
    func pick() -> UnitID { units[random.below(units.count)] }
    let chunks = folder.layout.ranges.indices.map { $0 + 1 }
    for index in 0..<count {
      var rules: [Placement.Rule] = [.init("vision", pick()), .init("audio", pick())]
      for phase in Part.Phase.allCases {
        // Half of the placements keep a phase together.
        let whole = random.below(2) == 0 ? pick() : nil
        rules += chunks.map { .init("\(phase.rawValue).chunk\($0)", whole ?? pick()) }
        rules.append(.init("\(phase.rawValue).head", whole ?? pick()))
      }
      let placement = Placement(rules: rules)
      let troika = try Troika(
        folder,
        Troika.LoadOptions(placement: placement, threads: threads),
        registry: registry
      )
      let words = 6 + random.below(30)
      var media: [MediaSource] = []
      if mediaEvery > 1 {
        let (turn, other) = (index % mediaEvery, (mediaEvery / 2 + 1) % mediaEvery)
        if turn == 1, folder.model.vision != nil { media = [.image(picture)] }
        if turn == other, folder.model.audio != nil { media = [.audio(sound)] }
      }
      let request = try Request(
        prompt: [String](repeating: "token", count: words).joined(separator: " "),
        media: media,
        options: GenerationOptions(
          maxTokens: 4 + random.below(12),
          ignoresStopTokens: true
        )
      )
      cases.append((troika, placement, request))
      lines.append((RequestShape([], maxTokens: 1), []))
    }
  }

  deinit { try? FileManager.default.removeItem(at: workFolder) }

  /// Runs every request once.
  ///
  /// - Parameters:
  ///   - isWarmUp: whether its time counts not.
  ///   - progress: called with the share that is done.
  /// - Throws: where a request fails.
  func round(isWarmUp: Bool, _ progress: (Double) -> Void) throws {
    for index in cases.indices {
      let response = try cases[index].troika.answer(cases[index].request)
      lines[index].shape = response.shape
      if !isWarmUp { lines[index].samples.append(Double(response.timings.totalNanoseconds)) }
      progress(Double(index + 1) / Double(cases.count))
    }
  }

  /// What was measured beside what a profile predicts.
  ///
  /// - Throws: where a request cannot be simulated.
  func validation(_ profile: DeviceProfile) throws -> HostValidation {
    var result = HostValidation()
    let simulator = try DeviceSimulator(
      PlannedModel(folder),
      Troika.LoadOptions(),
      on: profile,
      sharedLayers: .last,
      batches: .smallest
    )
    for (entry, line) in zip(cases, lines) {
      let simulation = try simulator.simulate(line.shape, entry.placement)
      var measured = HostValidation.Line(
        placement: entry.placement,
        promptTokens: line.shape.promptTokens,
        samples: line.samples
      )
      let steps = simulation.step * Double(max(line.shape.maxTokens - 1, 0))
      measured.prediction = simulation.firstToken + steps
      result.lines.append(measured)
    }
    return result
  }
}
