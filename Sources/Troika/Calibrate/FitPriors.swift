import Foundation
import Graph

/// Where fits start: what is known of such units before any of the numbers.
enum FitPriors {
  /// Figures of the engine, from its class of hardware.
  private static let engine: [UnitFigure: Double] = [
    .launchNanoseconds: 2e5, .operationNanoseconds: 5e3, .wakeNanoseconds: 3e6,
    .weightBytesPerSecond: 7.68e10, .stateBytesPerSecond: 5e9, .stateFreeByteCount: 1e6,
    .productFlopsPerSecond: 1e13, .attentionFlopsPerSecond: 1e12, .paddedProductShare: 0.5,
    .paddedAttentionShare: 0.01, .visionFactor: 1,
  ]
  /// Figures of the GPU.
  private static let gpu: [UnitFigure: Double] = [
    .productFlopsPerSecond: 4e12, .attentionFlopsPerSecond: 4e12,
  ]

  /// A device's profile with the figures that are fitted at their priors: another device's, where
  /// there is one.
  static func start(
    _ shipped: DeviceProfile,
    _ parameters: [ProfileFit.Parameter],
    like other: DeviceProfile?
  ) -> DeviceProfile {
    var profile = shipped
    for parameter in parameters {
      let known = parameter.unit == .gpu ? gpu[parameter.figure] : engine[parameter.figure]
      let value = other?.units[parameter.unit]?[parameter.figure] ?? known
      if let value { profile.units[parameter.unit]?.figures[parameter.figure]?.value = value }
    }
    return profile
  }

  /// The figures of those units that some number depends on.
  static func parameters(
    _ profile: DeviceProfile,
    _ checks: [PublishedCheck]
  ) -> [ProfileFit.Parameter] {
    var result: [ProfileFit.Parameter] = []
    for (unit, priors) in [(UnitID.neuralEngine, engine), (.gpu, gpu)] {
      for name in UnitFigure.allCases where priors[name] != nil {
        if checks.contains(where: { $0.depends(on: name, of: unit, in: profile) }) {
          result.append(.init(unit: unit, figure: name))
        }
      }
    }
    return result
  }

  /// A fitted profile whose ranges span the fits with a number left out, and 2 % at least.
  static func ranged(
    _ profile: DeviceProfile,
    _ fit: ProfileFit,
    _ others: [DeviceProfile]
  ) -> DeviceProfile {
    var result = profile
    for parameter in fit.parameters {
      guard let figure = profile.units[parameter.unit]?.figures[parameter.figure] else { continue }
      let values = others.compactMap { $0.units[parameter.unit]?[parameter.figure] }.sorted()
      // A fit that lacks the only number about a figure says nothing about it.
      let inner = values.dropFirst().dropLast()
      result.units[parameter.unit]?.figures[parameter.figure] = Figure(
        figure.value,
        low: min(figure.value * 0.98, inner.first ?? figure.value),
        high: max(figure.value * 1.02, inner.last ?? figure.value),
        .derived,
        source: figure.source
      )
    }
    return result
  }
}

extension PublishedCheck {
  /// Whether its prediction changes with a figure.
  func depends(on figure: UnitFigure, of unit: UnitID, in profile: DeviceProfile) -> Bool {
    guard let value = profile.units[unit]?[figure] else { return false }
    return [0.5, 2].contains { factor in
      var other = profile
      other.units[unit]?.figures[figure]?.value = value * factor
      return predict(other) != predict(profile)
    }
  }
}
