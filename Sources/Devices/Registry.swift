import Foundation
public import Graph

/// The units of this machine by name.
public struct Registry: Sendable {
  private var makers: [UnitID: @Sendable () throws -> any ComputeUnit]
  private var made = UnitCache()
  private let faults: FaultPlan

  /// Every unit the runtime knows.
  ///
  /// - Parameters:
  ///   - threads: worker threads of units on the processor.
  ///   - engine: switches of the neural engine.
  ///   - gpu: which Vulkan device, and how it is used.
  ///   - faults: what goes wrong on them.
  public init(
    threads: Int,
    engine: EngineOptions = EngineOptions(),
    gpu: GPUOptions = GPUOptions(),
    faults: FaultPlan = FaultPlan()
  ) {
    self.faults = faults
    let pinned = WorkerPool.processors(forThreads: threads)
    makers = [
      .reference: { ReferenceUnit() },
      .null: { NullUnit() },
      .gpu: { try GPUUnit(gpu) },
      .cpu: { try CPUUnit(threads: threads, processors: pinned) },
      .emulatedGPU: { try EmulatedUnit(.emulatedGPU, threads: threads, processors: pinned) },
      .neuralEngine: {
        try EmulatedUnit(.neuralEngine(engine), threads: threads, processors: pinned)
      },
    ]
  }

  /// The units as plans need them.
  ///
  /// A Vulkan device that is not here is planned by the rules that all of them share.
  ///
  /// - Parameters:
  ///   - threads: worker threads of units on the processor.
  ///   - engine: switches of the neural engine.
  ///   - gpu: which Vulkan device.
  ///   - hasGPU: whether this machine's device is meant; else the rules alone count.
  public init(
    planningWith threads: Int,
    engine: EngineOptions,
    gpu: GPUOptions,
    hasGPU: Bool = true
  ) {
    self.init(threads: threads, engine: engine, gpu: gpu)
    guard hasGPU else {
      makers[.gpu] = { PaperUnit(profile: GPUProfile.onPaper) }
      return
    }
    var options = gpu
    options.testsItself = false
    makers[.gpu] = { [options] in
      do {
        return try GPUUnit(options)
      } catch DeviceError.unavailable where options.device == nil {
        return PaperUnit(profile: GPUProfile.onPaper)
      }
    }
  }

  /// These units with another in place of one, which may wrap it.
  ///
  /// Units made so far stay with the registry that made them.
  ///
  /// - Parameters:
  ///   - name: the unit that is replaced.
  ///   - maker: makes the other.
  /// - Returns: the units.
  public func replacing(
    _ name: UnitID,
    with maker: @escaping @Sendable () throws -> any ComputeUnit
  ) -> Registry {
    var other = self
    other.made = UnitCache()
    other.makers[name] = maker
    return other
  }

  /// The units that exist here.
  public var names: [UnitID] { UnitID.all.filter { makers[$0] != nil } }

  /// A unit, made on first use.
  ///
  /// - Throws: `DeviceError.unavailable` where this machine has none.
  public func unit(_ name: UnitID) throws -> any ComputeUnit {
    guard let maker = makers[name] else {
      throw DeviceError.unavailable(unit: name.name, reason: "this build has no such unit")
    }
    guard faults.concerns(name) else { return try made.unit(name, maker) }
    return try made.unit(name) { [faults] in FaultyUnit(try maker(), faults) }
  }

  /// Makes a segment ready to launch on its unit; a unit compiles one at a time.
  ///
  /// - Throws: where the unit is absent, an operation is declined or a constant cannot be read.
  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable {
    let unit = try unit(segment.unit)
    return try made.compiling(segment.unit) { try unit.compile(segment, over: source) }
  }

  /// Whether a unit is a Vulkan device that computes on the processor.
  public func isSoftware(_ name: UnitID) -> Bool {
    guard name == .gpu, let unit = try? unit(name) else { return false }
    let own = (unit as? FaultyUnit)?.inner ?? unit
    return (own as? GPUUnit)?.device.kind == .software
  }

  /// The health of a unit that keeps it.
  ///
  /// - Throws: `DeviceError.unavailable` where this machine has no such unit.
  public func health(of name: UnitID) throws -> HealthRecord? {
    let unit = try unit(name)
    let own = (unit as? FaultyUnit)?.inner ?? unit
    return (own as? any HealthKeeping)?.health
  }
}

/// Units made so far.
private final class UnitCache: Sendable {
  private let units = Protected<[UnitID: any ComputeUnit]>([:])
  private let compilers = Protected<[UnitID: NSLock]>([:])

  func compiling<Result>(_ name: UnitID, _ body: () throws -> Result) rethrows -> Result {
    let compiler = compilers.update { compilers in
      let compiler = compilers[name] ?? NSLock()
      compilers[name] = compiler
      return compiler
    }
    return try compiler.withLock(body)
  }

  func unit(
    _ name: UnitID,
    _ maker: @Sendable () throws -> any ComputeUnit
  ) throws -> any ComputeUnit {
    try units.update { units in
      if let unit = units[name] { return unit }
      let unit = try maker()
      units[name] = unit
      return unit
    }
  }
}
