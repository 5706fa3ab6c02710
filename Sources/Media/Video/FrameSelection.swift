/// One frame to take from a clip.
public struct FrameChoice: Equatable, Sendable {
  /// The frame's place in presentation order.
  public let index: Int
  /// The time that goes with it, in seconds from the clip's start.
  public let seconds: Double

  /// The time as the prompt spells it: `MM:SS`, both truncated.
  public var label: String { Self.label(seconds: seconds) }

  /// Pairs a place with a time.
  public init(index: Int, seconds: Double) {
    self.index = index
    self.seconds = seconds
  }

  /// `seconds` as `MM:SS`, both truncated; minutes have at least two digits and no limit.
  public static func label(seconds: Double) -> String {
    let whole = Int(min(max(seconds, 0), 1e15))
    let (minutes, rest) = (whole / 60, whole % 60)
    return "\(minutes < 10 ? "0" : "")\(minutes):\(rest < 10 ? "0" : "")\(rest)"
  }
}

/// When each frame of a clip is shown.
public struct FrameTimeline: Equatable, Sendable {
  /// Presentation times in ticks, ascending, the first 0.
  public let times: [Int64]
  /// The clip's length in ticks.
  public let duration: Int64
  /// Seconds per tick: numerator.
  public let tickNumerator: Int
  /// Seconds per tick: denominator.
  public let tickDenominator: Int
  /// Frames per second on average; nil when unknown.
  public let framesPerSecond: Double?

  /// - Precondition: `times` is ascending and starts with 0; durations are not negative.
  init(
    times: [Int64],
    duration: Int64,
    tick: (numerator: Int, denominator: Int),
    framesPerSecond: Double?
  ) {
    precondition(times.first == 0 && duration >= 0)
    self.times = times
    self.duration = duration
    tickNumerator = tick.numerator
    tickDenominator = tick.denominator
    self.framesPerSecond = framesPerSecond
  }

  /// The clip's length in seconds.
  public var durationSeconds: Double { seconds(duration) }

  func seconds(_ ticks: Int64) -> Double {
    Double(ticks) * Double(tickNumerator) / Double(tickDenominator)
  }

  /// Frames spread evenly over the clip.
  ///
  /// `n = max(1, min(maxFrames, floor(duration * fps)))` frames for the times
  /// `i * duration / n`; each is the last one shown at or before its time, and carries its own
  /// time. Times are compared as whole ticks, so nothing is lost to rounding.
  public func even(fps: Double, maxFrames: Int) -> [FrameChoice] {
    // A product that falls short of a whole number by rounding counts as that number.
    let wanted = (durationSeconds * fps + 1e-9).rounded(.down)
    let count = wanted.isNaN ? 1 : max(1, min(maxFrames, Int(min(max(wanted, 0), 1e9))))
    return (0..<count).map { step in
      let product = duration.multipliedFullWidth(by: Int64(step))
      let time = Int64(count).dividingFullWidth(product).quotient
      let index = lastIndex(atOrBefore: time)
      return FrameChoice(index: index, seconds: seconds(times[index]))
    }
  }

  /// Frames as the reference samples them: `floor(i N / n)` with `n = min(numFrames, N)`, each
  /// with the time `index / fps`; an unknown rate counts as 24.
  public func reference(numFrames: Int) -> [FrameChoice] {
    let count = max(1, min(numFrames, times.count))
    let rate = framesPerSecond ?? 24
    return (0..<count).map { step in
      let index = step * times.count / count
      return FrameChoice(index: index, seconds: Double(index) / rate)
    }
  }

  private func lastIndex(atOrBefore time: Int64) -> Int {
    var (low, high) = (0, times.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if times[middle] <= time { low = middle } else { high = middle }
    }
    return low
  }
}
