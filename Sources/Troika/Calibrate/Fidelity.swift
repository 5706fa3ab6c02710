import Foundation
public import Graph

/// How well profiles say what was published: prediction, published number and error of each row, and
/// the prediction of a fit that never saw it.
public struct Fidelity: Sendable {
  /// One number.
  public struct Line: Sendable {
    /// The device.
    public let device: String
    /// What the number is of.
    public let label: String
    /// What its row is for.
    public let use: PublishedRow.Use
    /// Where it was published.
    public let source: String
    /// The published number, or its range.
    public let published: ClosedRange<Double>
    /// What the profile says.
    public let prediction: Double
    /// The relative error; 0 inside a range.
    public let error: Double
    /// The error of a fit without this number; nil where it was not fitted to, or where nothing else
    /// says anything about one of its figures.
    public let errorLeftOut: Double?

    /// Whether a fit holds the number: within 5 %, or inside its range.
    public var holds: Bool { abs(error) <= Fidelity.tolerance }
  }

  /// Relative error that rows marked `fit` may have.
  public static let tolerance = 0.05

  /// The numbers, in the order of the file.
  public private(set) var lines: [Line] = []
  /// Rows that are words, or of other systems.
  public private(set) var skipped: [PublishedRow] = []
  /// Profiles fitted to the file's rows, by device.
  public private(set) var fitted: [String: DeviceProfile] = [:]

  /// Holds profiles to the rows of a file.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - refits: whether profiles are fitted to the rows first; else those that come with Troika
  ///     are held to them.
  ///   - progress: called with the share that is done.
  /// - Throws: where the file cannot be read or names a device without a profile.
  public init(
    path: String,
    refits: Bool,
    progress: (Double) -> Void = { _ in }
  ) throws {
    let rows = try PublishedRow.read(path: path)
    let reader = try PublishedChecks()
    var prior: DeviceProfile?
    var devices: [String] = []
    for row in rows where !devices.contains(row.device) { devices.append(row.device) }
    for (index, device) in devices.enumerated() {
      let checks = try rows.filter { $0.device == device }.map { ($0, try reader.checks($0)) }
      skipped += checks.filter(\.1.isEmpty).map(\.0)
      let shipped = try KnownProfiles.profile(device)
      let all = checks.flatMap(\.1)
      let held = all.filter { $0.row.use == .fit }
      let parameters = FitPriors.parameters(shipped, held)
      let start = FitPriors.start(shipped, parameters, like: prior)
      let fit = ProfileFit(parameters: parameters, checks: held)
      let left = leaveOneOut(fit, from: start) { share in
        progress((Double(index) + share) / Double(devices.count))
      }
      let profile = refits ? FitPriors.ranged(fit.fitted(start), fit, left.profiles) : shipped
      fitted[device] = profile
      prior = prior ?? profile
      add(all, profile, left.predictions)
    }
  }

  private mutating func add(
    _ checks: [PublishedCheck],
    _ profile: DeviceProfile,
    _ leftOut: [Double?]
  ) {
    var fitIndex = 0
    for check in checks {
      let prediction = check.predict(profile)
      var errorLeftOut: Double?
      if check.row.use == .fit {
        errorLeftOut = leftOut[fitIndex].map(check.error)
        fitIndex += 1
      }
      lines.append(
        Line(
          device: check.row.device,
          label: check.label,
          use: check.row.use,
          source: check.row.source,
          published: check.published,
          prediction: prediction,
          error: check.error(prediction),
          errorLeftOut: errorLeftOut
        )
      )
    }
  }
}

/// Fits with each number left out in turn.
private func leaveOneOut(
  _ fit: ProfileFit,
  from start: DeviceProfile,
  _ progress: (Double) -> Void
) -> (predictions: [Double?], profiles: [DeviceProfile]) {
  var predictions: [Double?] = []
  var profiles: [DeviceProfile] = []
  for (index, check) in fit.checks.enumerated() {
    var others = fit.checks
    others.remove(at: index)
    let isAlone = fit.parameters.contains { parameter in
      check.depends(on: parameter.figure, of: parameter.unit, in: start)
        && !others.contains { $0.depends(on: parameter.figure, of: parameter.unit, in: start) }
    }
    guard !isAlone else {
      predictions.append(nil)
      continue
    }
    let profile = ProfileFit(parameters: fit.parameters, checks: others).fitted(start)
    predictions.append(check.predict(profile))
    profiles.append(profile)
    progress(Double(index + 1) / Double(fit.checks.count))
  }
  return (predictions, profiles)
}
