import Devices
import Foundation
public import Graph
import Models

/// The placement that is predicted to be fastest on this machine, and why.
///
/// It depends on the machine's profile, the model and how it is loaded, never on a request: the same
/// model gives the same tokens whatever it is asked.
public struct AutoPlacement: Hashable, Sendable {
  /// Where each part runs.
  public let placement: Placement
  /// Why, in one line.
  public let reason: String

  /// Searches the units of this machine's profile for a usual request.
  ///
  /// Whatever keeps the search from an answer, a profile that is absent, damaged or another machine's
  /// above all, leaves everything on the processor, and so does a best placement that cannot be told
  /// from it.
  ///
  /// - Parameters:
  ///   - planned: the model.
  ///   - options: how it is loaded; its placement is not looked at.
  ///   - path: the profile's file.
  public init(
    _ planned: PlannedModel,
    _ options: Troika.LoadOptions,
    profile path: String = KnownProfiles.hostPath
  ) {
    do {
      self = try Self.searched(planned, options, path)
    } catch {
      self.init(cpu: "\(error)")
    }
  }

  private init(cpu reason: String) {
    placement = Placement()
    self.reason = reason
  }

  private init(_ placement: Placement, _ reason: String) {
    self.placement = placement
    self.reason = reason
  }

  private static func searched(
    _ planned: PlannedModel,
    _ options: Troika.LoadOptions,
    _ path: String
  ) throws -> AutoPlacement {
    guard FileManager.default.fileExists(atPath: path) else {
      return AutoPlacement(cpu: "this machine is not measured, troika calibrate does it")
    }
    let profile = try ProfileFile.read(path: path)
    let threads = options.threads ?? ProcessInfo.processInfo.activeProcessorCount
    let here = HostCalibration.summary(threads: threads, planned.model)
    guard profile.summary == here else {
      return AutoPlacement(cpu: "\(path) is of \(profile.summary), this is \(here)")
    }
    let units = available(profile, options)
    guard profile.units[.cpu] != nil, units.count > 1 else {
      return AutoPlacement(cpu: "\(path) knows no other unit that is here")
    }
    let request = try RequestShape(usualFor: planned, context: options.context ?? planned.context)
    // The search itself leaves out what a unit refuses.
    var searching = options
    searching.allowsFallback = true
    let simulator = try DeviceSimulator(
      planned,
      searching,
      on: profile,
      sharedLayers: options.sharedLayers,
      batches: options.batches
    )
    if let format = try simulator.formats(request).first(where: { !profile.rates($0, on: units) }) {
      return AutoPlacement(cpu: "\(path) was not measured with weights of \(format.rawValue)")
    }
    let best = try PlacementSearch(simulator, request, units: units, .ttft).run().best
    let cpu = try simulator.simulate(request, Placement())
    return choice(best, over: cpu)
  }

  /// The best placement, unless the processor alone may be as fast.
  private static func choice(_ best: Simulation, over cpu: Simulation) -> AutoPlacement {
    let asked = "a usual request of \(cpu.promptTokens) and \(cpu.generatedTokens) tokens"
    let own = "\(text(cpu.whole)) on the cpu"
    if best.placement.isProcessorAlone {
      return AutoPlacement(cpu: "predicted fastest, \(text(cpu.whole)) for \(asked)")
    }
    guard best.whole.high < cpu.whole.low else {
      let other = text(best.whole)
      return AutoPlacement(cpu: "\(own), not distinguishable from the best, \(other), for \(asked)")
    }
    let placement = Placement(rules: best.placement.rules.filter { $0.unit != .cpu })
    return AutoPlacement(placement, "predicted \(text(best.whole)), \(own), for \(asked)")
  }

  private static func text(_ time: Estimate) -> String {
    String(format: "%.3g s (%.3g to %.3g)", time.value / 1e9, time.low / 1e9, time.high / 1e9)
  }

  /// Units of a profile that compute here, those for tests excluded.
  private static func available(
    _ profile: DeviceProfile,
    _ options: Troika.LoadOptions
  ) -> [UnitID] {
    var gpu = options.gpu
    gpu.testsItself = false
    let registry = Registry(threads: 1, engine: options.engine, gpu: gpu)
    return profile.units.keys.sorted { $0.name < $1.name }.filter { unit in
      unit != .reference && unit != .null && (try? registry.unit(unit)) != nil
    }
  }
}

extension DeviceProfile {
  /// Whether units that are rated by weight formats are rated for one.
  fileprivate func rates(_ format: DType, on units: [UnitID]) -> Bool {
    units.allSatisfy { unit in
      let products = self.units[unit]?.products ?? []
      return products.isEmpty || products.contains { $0.weights == format }
    }
  }
}

extension DeviceSimulator {
  /// The weight formats of a request's programs, by name.
  ///
  /// - Throws: where a program cannot be traced.
  fileprivate func formats(_ request: RequestShape) throws -> [DType] {
    let programs = try programs(Placement())
    let products = try programs.keys(request, nil).flatMap { key in
      try programs.work(key).runs.flatMap(\.work.products)
    }
    return Set(products.compactMap(\.weights)).sorted { $0.rawValue < $1.rawValue }
  }
}

extension Placement {
  /// Whether nothing is placed elsewhere than on the processor.
  var isProcessorAlone: Bool { units == [.cpu] }
}

extension Simulation {
  /// Nanoseconds of the whole request.
  var whole: Estimate { firstToken + step * Double(max(generatedTokens - 1, 0)) }
}

extension RequestShape {
  /// What placements are chosen for where no request is known: 128 tokens of text behind a picture
  /// and 10 s of sound, as far as the model takes them, and 64 tokens of answer; less where the
  /// context is short.
  ///
  /// - Throws: where the model takes nothing.
  init(usualFor planned: PlannedModel, context: Int) throws {
    let model = planned.model
    let text = max(1, min(128, context / 2))
    let answer = max(1, min(64, context - text))
    let full = try RequestShape(
      model,
      textTokens: text,
      images: model.vision == nil ? 0 : 1,
      audioSeconds: model.audio == nil ? 0 : 10,
      maxTokens: answer
    )
    self =
      full.promptTokens + answer <= context
      ? full : try RequestShape(model, textTokens: text, maxTokens: answer)
  }
}
