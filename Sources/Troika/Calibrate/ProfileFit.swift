import Foundation
import Graph

/// Fits figures of a profile to numbers that were published or measured.
///
/// Minimises squared relative errors, each figure held near its prior by a wide margin; what no number
/// says anything about stays at its prior.
struct ProfileFit {
  /// A figure that is fitted.
  struct Parameter: Hashable, Sendable {
    let unit: UnitID
    let figure: UnitFigure
    /// Its logarithm is expected within this of the prior's.
    var margin = 1.0
  }

  let parameters: [Parameter]
  let checks: [PublishedCheck]
  /// Relative error that a number is allowed.
  var tolerance = 0.02
  /// Proposals that are tried.
  var proposals = 20_000

  /// The profile whose figures fit the numbers, started from priors.
  ///
  /// - Complexity: linear in proposals times numbers.
  func fitted(_ prior: DeviceProfile) -> DeviceProfile {
    let start = parameters.map { log(max(prior.units[$0.unit]?[$0.figure] ?? 1, 1e-12)) }
    var random = SplitMix(seed: 1)
    var (best, profile) = (start, prior)
    var loss = self.loss(prior, start, start)
    var width = 0.3
    for _ in 0..<proposals {
      var next = best
      for index in next.indices where random.unit() < 0.4 { next[index] += width * random.normal() }
      let candidate = applying(next, to: prior)
      let value = self.loss(candidate, next, start)
      if value < loss {
        (best, loss, profile) = (next, value, candidate)
        width = min(width * 1.3, 0.5)
      } else {
        width = max(width * 0.985, 1e-3)
      }
    }
    return profile
  }

  private func applying(_ values: [Double], to prior: DeviceProfile) -> DeviceProfile {
    var profile = prior
    for (parameter, value) in zip(parameters, values) {
      profile.units[parameter.unit]?.figures[parameter.figure]?.value = exp(value)
    }
    return profile
  }

  private func loss(_ profile: DeviceProfile, _ values: [Double], _ start: [Double]) -> Double {
    var sum = 0.0
    for check in checks {
      let error = check.error(check.predict(profile)) / tolerance
      // Large errors count more than squares would: the worst number is what a fit is judged by.
      sum += error * error + error * error * error * error
    }
    for (index, parameter) in parameters.enumerated() {
      let distance = (values[index] - start[index]) / parameter.margin
      sum += distance * distance
    }
    return sum
  }
}

/// Random numbers that are the same every time.
struct SplitMix: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// From 0 to 1.
  mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

  /// Normal with a spread of 1.
  mutating func normal() -> Double {
    (-2 * log(max(unit(), 1e-300))).squareRoot() * cos(2 * .pi * unit())
  }
}
