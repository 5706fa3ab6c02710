import Devices
public import Graph
public import Models

/// What a request takes on a device that is known by its profile: nothing is computed.
public struct Simulation: Hashable, Sendable {
  /// Launches of one program on one unit.
  public struct Launch: Hashable, Sendable {
    /// The program.
    public let program: String
    /// The unit.
    public let unit: UnitID
    /// How many there are in the whole request.
    public var count: Int
    /// Nanoseconds of one, on average.
    public var nanoseconds: Estimate
  }

  /// The device.
  public let device: String
  /// Where each part runs.
  public let placement: Placement
  /// For which positions the sharing layers run in prefill.
  public let sharedLayers: TextDecoder.SharedLayers
  /// Tokens of the prompt.
  public let promptTokens: Int
  /// Tokens that are generated.
  public let generatedTokens: Int
  /// Real and compiled tokens of the prefill batches.
  public let batches: [[Int]]
  /// Whether batches end before media, so that encodes overlap with prefill.
  public let cutsAtMedia: Bool
  /// Nanoseconds to the first token.
  public let firstToken: Estimate
  /// Nanoseconds of all tasks up to the first token one after another.
  public let serialNanoseconds: Int
  /// What no schedule could beat up to the first token.
  public let bound: ScheduleBound
  /// Nanoseconds of one decode step, on average; zero where there is none.
  public let step: Estimate
  /// The launches.
  public let launches: [Launch]
  /// Joules of the whole request; nil where the profile knows no watts.
  public let joules: Estimate?
  /// What ran where and when, the first token's part in front.
  public let timeline: Timeline
  /// Bytes at most.
  public let peakByteCount: Int
  /// What the user should know, for example that a unit refuses a program.
  public internal(set) var warnings: [String] = []
  /// What nobody measured or published and this rests on.
  public let assumptions: [Assumption]
  /// Nanoseconds more on the first request: programs that are loaded and launched for the first time.
  public let coldNanoseconds: Int

  /// Tokens a second behind the first one.
  public var tokensPerSecond: Estimate {
    guard step.value > 0 else { return .zero }
    let (value, low) = (max(step.value, 1), max(step.low, 1))
    return Estimate(1e9 / value, low: 1e9 / max(step.high, value), high: 1e9 / low)
  }
}
