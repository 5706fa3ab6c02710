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
