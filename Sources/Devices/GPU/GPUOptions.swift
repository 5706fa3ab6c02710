/// Which Vulkan device is used, and how.
public struct GPUOptions: Hashable, Sendable {
  /// Kernels of one kind of device.
  public enum Family: String, Hashable, Sendable, CaseIterable {
    /// For software devices with subgroups of 8: texel reads and constant shuffles.
    case texels
    /// For all others: tiles in shared memory.
    case tiles
  }

  /// An index or part of a name; nil for the best device.
  public var device: String?
  /// The kernels; nil leaves that to the device's properties.
  public var family: Family?
  /// Whether the Khronos validation layers watch every call.
  public var validates = false
  /// Whether values bound to launches may be used where they lie.
  public var importsMemory = true
  /// Whether operations are compared with the Reference unit, and tile sizes with each other,
  /// before the first use of a driver.
  public var testsItself = true
  /// Where pipelines and test results are kept between processes; nil for nowhere.
  public var cacheFolder: String?
  /// Nanoseconds without progress after which a launch has failed, for work of no size; nil for a
  /// second, and ten where the processor computes and may be busy.
  public var patienceNanoseconds: Int?
  /// Sizes of product tiles; nil leaves them to the tuning run.
  var tiles: GPUTiles?
  /// Nanoseconds more where a driver may still have to compile.
  public var compilingNanoseconds = 120_000_000_000
  /// Nanoseconds more for each floating-point operation or byte: a very slow device's.
  public var nanosecondsPerUnit = 5

  /// The defaults.
  ///
  /// - Parameters:
  ///   - device: an index or part of a name; nil for the best device.
  ///   - cacheFolder: where pipelines and test results are kept; nil for nowhere.
  public init(device: String? = nil, cacheFolder: String? = nil) {
    self.device = device
    self.cacheFolder = cacheFolder
  }
}
