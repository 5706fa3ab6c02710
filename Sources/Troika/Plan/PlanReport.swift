public import Graph
public import Models

/// What a placement makes of a model: programs, segments, fallbacks, bytes.
///
/// Nothing is computed. Operations are what a unit computes: constants, inputs, reshapes and views of constants are none.
/// Masks and cache writes are host work wherever the rest of a program runs; they are counted apart
/// and belong to no share.
public struct PlanReport: Hashable, Sendable {
  /// One compiled program.
  public struct Program: Hashable, Sendable {
    /// What traces call it, with the shape where there are several.
    public let name: String
    /// Where it was placed as a whole.
    public let unit: UnitID
    /// The units of its segments in order, with their operations.
    public let segments: [SegmentSize]
    /// Operations by the unit that runs them.
    public let operations: [UnitID: Int]
    /// Masks and cache writes.
    public let hostOperations: Int
    /// Bytes of weights that are read whole, as stored.
    public let weightByteCount: Int
    /// Bytes of constants kept in another format than the one they are stored in.
    public let convertedByteCount: Int
    /// Bytes of intermediate results.
    public let arenaByteCount: Int
    /// What crosses between units.
    public let crossings: [Crossing]

    /// All operations.
    public var operationCount: Int { operations.values.reduce(0, +) }
    /// Bytes that go to the unit it was placed on.
    public var incomingByteCount: Int { bytes { $0.to == unit } }
    /// Bytes that come from it.
    public var outgoingByteCount: Int { bytes { $0.from == unit } }

    private func bytes(_ isCounted: (Crossing) -> Bool) -> Int {
      crossings.filter(isCounted).reduce(0) { $0 + $1.byteCount }
    }
  }

  /// A segment in short.
  public struct SegmentSize: Hashable, Sendable {
    /// Where it runs.
    public let unit: UnitID
    /// Nodes that it runs, host work included.
    public let nodes: Int
    /// What one launch asks of the unit.
    public let work: ProgramWork
  }

  /// Operations that one rule sent away from the unit they were placed on.
  public struct FallbackGroup: Hashable, Sendable {
    /// The unit.
    public let unit: UnitID
    /// The rule with its source.
    public let reason: String
    /// How many, over all programs.
    public let count: Int
    /// Their names without repetition, as they come.
    public let operations: [String]
    /// The programs they belong to.
    public let programs: [String]
  }

  /// What one unit was given and what it runs of it.
  public struct Share: Hashable, Sendable {
    /// The unit.
    public let unit: UnitID
    /// Operations of the parts placed on it, over all programs.
    public var placed = 0
    /// Those of them that run there.
    public var kept = 0
    /// All operations that it runs.
    public var run = 0

    /// The part of what was placed that runs there; 1 where nothing was placed.
    public var fraction: Double { placed == 0 ? 1 : Double(kept) / Double(placed) }
  }

  /// What the plans say about memory while a request runs.
  public struct Memory: Hashable, Sendable {
    /// Weights that are read whole, once each.
    public let weightByteCount: Int
    /// Constants kept in another format than the one they are stored in.
    public let convertedByteCount: Int
    /// Caches of one conversation.
    public let cacheByteCount: Int
    /// Intermediate results, of each unit's largest program.
    public let arenaByteCount: Int
    /// Values between programs, and between units inside one.
    public let bindingByteCount: Int
    /// Rows of embedding tables, at most as many as the context has positions.
    public let tableByteCount: Int

    /// All of it at once.
    public var peakByteCount: Int {
      weightByteCount + convertedByteCount + cacheByteCount + arenaByteCount + bindingByteCount
        + tableByteCount
    }

    /// What the user of a machine with so much memory should know; nil where all of it fits.
    public func warning(machineByteCount: Int) -> String? {
      guard machineByteCount > 0, peakByteCount > machineByteCount else { return nil }
      return "memory: expected at most the machine's \(machineByteCount >> 20) MiB, "
        + "the plan may take \(peakByteCount >> 20) MiB"
    }
  }

  /// Where things were asked to run.
  public let placement: Placement
  /// Exclusive ends of the decoder's programs.
  public let chunks: [Int]
  /// Positions of the caches.
  public let context: Int
  /// Token counts of the decoder's programs.
  public let tokens: [Int]
  /// For which positions the sharing layers run in prefill.
  public let sharedLayers: TextDecoder.SharedLayers
  /// Switches of the neural engine.
  public let engine: EngineOptions
  /// The programs.
  public let programs: [Program]
  /// What was sent away.
  public let fallbacks: [FallbackGroup]
  /// Units by name.
  public let shares: [Share]
  /// Memory.
  public let memory: Memory
  /// What the user should know.
  public let warnings: [String]

  /// What a unit was given and runs.
  public func share(of unit: UnitID) -> Share {
    shares.first { $0.unit == unit } ?? Share(unit: unit)
  }
}
