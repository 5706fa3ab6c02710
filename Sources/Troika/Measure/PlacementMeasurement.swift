import Devices
public import Graph
import Models

/// The same request over several placements on this machine, measured in turns.
public struct PlacementMeasurement: Sendable {
  /// One placement.
  public struct Entry: Sendable {
    /// Where each part ran.
    public let placement: Placement
    /// Nanoseconds to the first token, of each run.
    public internal(set) var firstToken: [Double] = []
    /// Nanoseconds of a decode step, of each run; empty where one token was asked for.
    public internal(set) var step: [Double] = []
    /// Bytes that the plan says.
    public internal(set) var plannedByteCount = 0
    /// The generated ids.
    public internal(set) var tokens: [Int] = []

    /// The median with the range that holds the true one with 95 % confidence, or all samples where
    /// they are too few for that.
    public static func estimate(_ samples: [Double]) -> Estimate {
      guard !samples.isEmpty else { return .zero }
      let median = SampleSummary(samples).median
      let interval = MedianInterval(samples)
      return Estimate(
        median,
        low: interval?.low ?? samples.min() ?? median,
        high: interval?.high ?? samples.max() ?? median
      )
    }
  }

  /// The placements, in the order given.
  public private(set) var entries: [Entry] = []

  /// Runs a request over placements in turns; the first run of each only warms up.
  ///
  /// - Parameters:
  ///   - folder: the model.
  ///   - loads: how it is loaded for each placement.
  ///   - request: the request.
  ///   - repeats: runs of each placement that count.
  ///   - progress: called with the share that is done.
  /// - Throws: where a unit is not available or a run fails.
  public init(
    _ folder: ModelFolder,
    _ loads: [Troika.LoadOptions],
    _ request: Request,
    repeats: Int,
    _ progress: (Double) -> Void
  ) throws {
    let models = try loads.map { try Troika(folder, $0) }
    entries = loads.map { Entry(placement: $0.placement) }
    for round in 0...repeats {
      for (index, troika) in models.enumerated() {
        progress(Double(round * models.count + index) / Double((repeats + 1) * models.count))
        let response = try troika.answer(request)
        entries[index].plannedByteCount = response.plannedByteCount
        entries[index].tokens = response.tokens
        guard round > 0 else { continue }
        entries[index].firstToken.append(Double(response.timings.firstTokenNanoseconds))
        guard response.tokens.count > 1 else { continue }
        entries[index].step.append(
          Double(response.timings.decodeNanoseconds) / Double(response.tokens.count - 1)
        )
      }
    }
  }
}

extension Troika {
  /// Answers one request with caches of its own, on the caller's thread.
  func answer(_ request: Request) throws -> Response {
    var history: [PromptKey] = []
    var loaded: [Medium: LoadedMedium] = [:]
    let session = try makeSession()
    var response = try generator(.silent)
      .run(request, in: session, history: &history, loaded: &loaded)
    addPlan(to: &response, history, session)
    return response
  }

  /// Says what is planned of memory: the plans of all programs so far, and what is around them.
  func addPlan(to response: inout Response, _ history: [PromptKey], _ session: DecoderSession) {
    var memory = PlannedMemory()
    memory.add("loaded", loadedByteCount)
    store.addPlans(
      to: &memory,
      rows: Set(history).count + 1,
      softTokens: response.softTokens
    )
    memory.add("caches", session.cacheByteCount)
    memory.addProcess(
      units: placement.units.union([.cpu]).count,
      threads: threads,
      response.mediaMemory
    )
    memory.addTimeline(events: response.timeline.events.count)
    response.memory = memory
  }
}
