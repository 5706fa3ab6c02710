/// A machine as numbers: what its units take for their work.
public struct DeviceProfile: Hashable, Sendable {
  /// The rate of matrix products of one weight format at a number of rows.
  public struct ProductRate: Hashable, Sendable {
    /// The format; nil for all others.
    public var weights: DType?
    /// Rows of the operand that is no weight.
    public var rows: Int
    /// Floating-point operations in a second.
    public var flopsPerSecond: Figure

    /// A rate from its parts.
    public init(weights: DType?, rows: Int, flopsPerSecond: Figure) {
      self.weights = weights
      self.rows = rows
      self.flopsPerSecond = flopsPerSecond
    }
  }

  /// One unit's numbers.
  public struct Unit: Hashable, Sendable {
    /// Whether programs are compiled for fixed shapes, whose time does not follow what is in them.
    public var hasFixedShapes = false
    /// Whether it runs on the machine's processors, and on how many: 0 for none.
    public var processors = 0
    /// Its figures.
    public var figures: [UnitFigure: Figure] = [:]
    /// Rates of matrix products by format and rows, where these matter.
    public var products: [ProductRate] = []

    /// A unit that takes no time.
    public init() {}

    /// A figure's value.
    public subscript(_ name: UnitFigure) -> Double? { figures[name]?.value }
  }

  /// What it is called.
  public var name: String
  /// What it is, in words.
  public var summary: String
  /// Processors that units on them share; 0 where each unit has its own.
  public var processors = 0
  /// The host's figures.
  public var host: [HostFigure: Figure] = [:]
  /// The units.
  public var units: [UnitID: Unit] = [:]
  /// Relative error of what the figures say about programs they were not fitted to.
  public var modelError = 0.05
  /// Whether prefill programs run the layers without caches of their own for the whole batch.
  public var runsSharedLayersForAll = false
  /// Whether programs keep weights in another format than they are stored in.
  public var convertsWeights = false
  /// Whether decode steps wait for caches to be copied back.
  public var waitsForStateReturn = false

  /// A profile without figures.
  public init(name: String, summary: String) {
    self.name = name
    self.summary = summary
  }

  /// What units share.
  public var resources: SharedResources {
    SharedResources(
      bytesPerSecond: host[.memoryBytesPerSecond].flatMap { $0.value >= 1 ? $0.value : nil },
      processors: processors > 0 ? processors : nil
    )
  }
}
