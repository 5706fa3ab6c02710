public import Graph

/// What a run of the benchmark measured.
public struct BenchReport: Hashable, Sendable {
  /// One stage on one unit.
  public struct Row: Hashable, Sendable {
    /// The stage: `chunk1.decode@512`.
    public let stage: String
    /// The unit it was placed on; `host` for what no unit does.
    public let unit: UnitID
    /// Tracing, passes and placing; nil where another stage of the program has it.
    public var buildNanoseconds: Int?
    /// Making the program ready to launch; nil like the former.
    public var compileNanoseconds: Int?
    /// The first call; nil like the former.
    public var firstNanoseconds: Int?
    /// The steady state.
    public var samples: PairedSamples
    /// The median of what units were running something in a sample.
    public var busyNanoseconds = 0
    /// What is asked of the unit.
    public var work = StageWork()
    /// Operations that ran on the unit.
    public var operations = 0
    /// Operations that ran elsewhere.
    public var elsewhere = 0

    /// A stage that no unit has timed yet.
    public init(stage: String, unit: UnitID, samples: PairedSamples) {
      self.stage = stage
      self.unit = unit
      self.samples = samples
    }
  }

  /// A stage that a unit does not run.
  public struct Refusal: Hashable, Sendable {
    /// The stage.
    public let stage: String
    /// The unit.
    public let unit: UnitID
    /// Why.
    public let reason: String

    /// A refusal from its parts.
    public init(stage: String, unit: UnitID, reason: String) {
      self.stage = stage
      self.unit = unit
      self.reason = reason
    }
  }

  /// What the time of the run went into.
  public struct Share: Hashable, Sendable {
    /// What it was.
    public let name: String
    /// How long, all together.
    public var nanoseconds: Int

    /// A share from its parts.
    public init(name: String, nanoseconds: Int) {
      self.name = name
      self.nanoseconds = nanoseconds
    }
  }

  /// The version of this document's form.
  public static let schema = 1
  /// The unit of what no unit does.
  public static let host: UnitID = "host"

  /// The machine.
  public var machine: MachineFacts
  /// The model's folder.
  public var model: String
  /// How the decoder is cut and filled: `chunks 8,15,25,35, context 2048`.
  public var shapes: String
  /// The suite's name.
  public var suite: String
  /// How fast units are at most.
  public var limits: [UnitLimit]
  /// What was timed.
  public var rows: [Row]
  /// What was not.
  public var refusals: [Refusal]
  /// What the time went into; what is left over is not among them.
  public var shares: [Share]
  /// Nanoseconds from the opening of the model to the end.
  public var wallNanoseconds: Int

  /// A report from its parts.
  public init(
    machine: MachineFacts,
    model: String,
    shapes: String,
    suite: String,
    limits: [UnitLimit] = [],
    rows: [Row] = [],
    refusals: [Refusal] = [],
    shares: [Share] = [],
    wallNanoseconds: Int = 0
  ) {
    self.machine = machine
    self.model = model
    self.shapes = shapes
    self.suite = suite
    self.limits = limits
    self.rows = rows
    self.refusals = refusals
    self.shares = shares
    self.wallNanoseconds = wallNanoseconds
  }

  /// Nanoseconds that nothing accounts for.
  public var residualNanoseconds: Int {
    wallNanoseconds &- shares.reduce(0) { $0 &+ $1.nanoseconds }
  }

  /// The share of the wall time that nothing accounts for.
  public var residual: Double { Double(residualNanoseconds) / Double(max(wallNanoseconds, 1)) }

  /// What a row reaches of its unit's limits in the median; nil where it asks for none of it.
  public func reached(_ row: Row) -> (ofCompute: Double?, ofRead: Double?) {
    let seconds = row.samples.summary.median / 1e9
    guard let limit = limits.first(where: { $0.unit == row.unit }), seconds > 0 else {
      return (nil, nil)
    }
    func share(_ amount: Int, _ rate: Double) -> Double? {
      amount == 0 ? nil : Double(amount) / seconds / rate
    }
    return (
      share(row.work.flops, limit.flopsPerSecond),
      share(row.work.weightByteCount, limit.bytesPerSecond)
    )
  }
}

/// How one stage changed from one report to another.
public struct StageChange: Hashable, Sendable {
  /// The stage.
  public let stage: String
  /// The unit.
  public let unit: UnitID
  /// How it changed; nil where only one report has it.
  public let comparison: SampleComparison?
  /// Whether only the later report has it.
  public let isNew: Bool
}

extension BenchReport {
  /// How each stage changed since an earlier run, in this report's order, then what is gone.
  ///
  /// - Parameters:
  ///   - earlier: the run that this one is held against.
  ///   - countsDisturbed: whether samples count all the same that other work disturbed.
  /// - Returns: a change for each stage of either.
  public func changes(
    since earlier: BenchReport,
    countsDisturbed: Bool = false
  ) -> [StageChange] {
    func same(_ left: Row, _ right: Row) -> Bool {
      left.stage == right.stage && left.unit == right.unit
    }
    let changes = rows.map { row in
      let old = earlier.rows.first { same($0, row) }
      return StageChange(
        stage: row.stage,
        unit: row.unit,
        comparison: old.map {
          SampleComparison($0.samples, row.samples, countsDisturbed: countsDisturbed)
        },
        isNew: old == nil
      )
    }
    let gone = earlier.rows.filter { old in !rows.contains { same($0, old) } }
    return changes
      + gone.map { StageChange(stage: $0.stage, unit: $0.unit, comparison: nil, isNew: false) }
  }
}
