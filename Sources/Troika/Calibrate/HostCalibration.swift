import Devices
import Foundation
public import Graph
import Media
import Models

/// Measures what this machine's units take for a model's programs and makes a profile of it.
public struct HostCalibration: Sendable {
  /// The model that is measured with.
  let folder: ModelFolder
  /// The units.
  let units: [UnitID]
  /// Worker threads of each unit on the processor.
  let threads: Int
  /// Calls of each program that are samples, at most.
  let repeats: Int

  /// A calibration.
  ///
  /// - Parameters:
  ///   - folder: the model that is measured with.
  ///   - units: the units.
  ///   - threads: worker threads of each unit on the processor.
  ///   - repeats: calls of each program that are samples, at most.
  public init(_ folder: ModelFolder, units: [UnitID], threads: Int, repeats: Int = 9) {
    self.folder = folder
    self.units = units
    self.threads = threads
    self.repeats = repeats
  }

  /// Measures and fits.
  ///
  /// Programs of all units take turns, and so do requests that the profile is held to, so that whatever
  /// else the machine does falls on all alike.
  ///
  /// - Parameters:
  ///   - placements: how many random placements the profile is held to; 0 for none.
  ///   - mediaEvery: of their requests one in so many has a picture, and another one a sound; 0 for
  ///     none.
  ///   - seed: which.
  ///   - progress: called with the share that is done.
  /// - Returns: the profile, and how well it predicts the placements.
  /// - Throws: where a unit is not available or a program fails.
  public func run(
    placements: Int = 0,
    mediaEvery: Int = 8,
    seed: UInt64 = 1,
    _ progress: (Double) -> Void = { _ in }
  ) throws -> (profile: DeviceProfile, validation: HostValidation?) {
    let registry = Registry(threads: threads)
    let programs = try CalibratedPrograms(folder, registry, units: Set([.cpu] + units))
    let requests =
      placements > 0
      ? try ValidationRequests(
        folder,
        registry,
        units: units,
        threads: threads,
        count: placements,
        mediaEvery: mediaEvery,
        seed: seed
      ) : nil
    for round in 0...repeats {
      let start = Double(round) / Double(repeats + 1)
      try programs.round(isWarmUp: round == 0) { progress(start + $0 / Double(2 * repeats + 2)) }
      try requests?.round(isWarmUp: round == 0) {
        progress(start + (1 + $0) / Double(2 * repeats + 2))
      }
    }
    let profile = try fitted(programs.measured, registry)
    return (profile, try requests?.validation(profile))
  }

  private func fitted(
    _ measured: [MeasuredProgram],
    _ registry: Registry
  ) throws -> DeviceProfile {
    var profile = DeviceProfile(name: "host", summary: Self.summary(threads: threads, folder.model))
    profile.processors = ProcessInfo.processInfo.activeProcessorCount
    profile.convertsWeights = true
    profile.modelError = 0.03
    // What falls back runs on the processor unit, so that one comes first.
    for unit in [.cpu] + units.filter({ $0 != .cpu }) {
      let rules = try registry.unit(unit).profile
      profile.units[unit] = HostFit(
        unit: unit,
        programs: measured.filter { $0.unit == unit },
        known: profile.units,
        processors: unit == .gpu ? 0 : threads,
        hasFixedShapes: rules.needsFixedShapes
      ).fitted()
    }
    try HostFigures(folder: folder, registry: registry).add(to: &profile)
    return profile
  }

  /// What a profile says of the machine it is of, and of the model that it was measured with: one
  /// measured here with models of this size is known by it.
  static func summary(threads: Int, _ model: Gemma4) -> String {
    let machine = HostMachine.current()
    let count = ProcessInfo.processInfo.activeProcessorCount
    return "\(machine.processor), \(count) processors, \(threads) threads a unit, "
      + "a decoder of width \(model.configuration.text.hiddenSize)"
  }
}
