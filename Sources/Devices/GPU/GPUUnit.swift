import CGPU
import Foundation
public import Graph

/// A Vulkan device: compute shaders over values that f16 can hold, sums in f32.
public final class GPUUnit: ComputeUnit {
  /// What it runs, and what failed its self-test.
  public let profile: UnitProfile
  /// The device.
  public var device: GPUDevice { context.device }
  let context: GPUContext
  private let arena: GPUArena
  private let store = GPUWeightStore()
  private let queue = UnitQueue(unit: .gpu)

  /// Opens a device and tests what has not been tested with its driver.
  ///
  /// - Parameter options: which device, and how it is used.
  /// - Throws: `DeviceError.unavailable` where there is none.
  public init(_ options: GPUOptions = GPUOptions()) throws {
    context = try GPUContext(options)
    arena = GPUArena(context)
    context.tiles = Self.tiles(options, context, arena, store, queue)
    var failures = Self.knownFailures(context)
    if failures == nil, options.testsItself {
      failures = try Self.test(context, arena, store, queue)
    }
    profile = GPUProfile.make(context.device, failures: failures ?? [])
  }

  /// Whether making the unit tests a device for the first time, which takes some seconds on software
  /// devices.
  public static func isUntested(_ options: GPUOptions) -> Bool {
    guard options.testsItself, let device = try? GPUSystem(validates: false).device(options.device)
    else { return false }
    let family = options.family ?? .suiting(device)
    let folder = GPUCacheFolder(options.cacheFolder, device)
    return [family.selfTestName, family.tilesName].contains { folder.read($0).isEmpty }
  }

  /// The tile sizes that are asked for, else those that an earlier process or a tuning run found.
  private static func tiles(
    _ options: GPUOptions,
    _ context: GPUContext,
    _ arena: GPUArena,
    _ store: GPUWeightStore,
    _ queue: UnitQueue
  ) -> GPUTiles {
    if let tiles = options.tiles { return tiles }
    let name = context.family.tilesName
    let known = try? JSONDecoder().decode(GPUTiles.self, from: context.folder.read(name))
    if let known, known.isOffered(by: context.tileChoices, lanes: context.lanes) { return known }
    guard options.testsItself else { return GPUTiles(lanes: context.lanes) }
    // What cannot be timed is what the self-test then declines.
    let tuning = GPUTuning(context: context) { graph, weights in
      let lowering = try GPULowering(graph, over: weights, context: context, store: store)
      return try GPUExecutable(lowering, arena: arena, queue: queue, source: weights)
    }
    guard let found = try? tuning.fastest() else { return GPUTiles(lanes: context.lanes) }
    context.folder.write(name, (try? JSONEncoder().encode(found)) ?? Data())
    return found
  }

  /// What an earlier process found with this device, driver and shaders.
  private static func knownFailures(_ context: GPUContext) -> [GPUSelfTest.Failure]? {
    let data = context.folder.read(context.selfTestName)
    return try? JSONDecoder().decode([GPUSelfTest.Failure].self, from: data)
  }

  private static func test(
    _ context: GPUContext,
    _ arena: GPUArena,
    _ store: GPUWeightStore,
    _ queue: UnitQueue
  ) throws -> [GPUSelfTest.Failure] {
    let failures = try GPUSelfTest().failures { graph, weights in
      let lowering = try GPULowering(graph, over: weights, context: context, store: store)
      return try GPUExecutable(lowering, arena: arena, queue: queue, source: weights)
    }
    context.folder.write(context.selfTestName, (try? JSONEncoder().encode(failures)) ?? Data())
    context.savePipelines()
    return failures
  }

  /// The tile sizes in use.
  var tiles: GPUTiles { context.tiles }

  /// The kernels in use.
  public var family: GPUOptions.Family { context.family }

  /// Messages of the validation layers so far, and the last one's text; none unless they watch.
  public var validationMessages: (count: Int, last: String) { context.system.messages }

  /// Lowers a segment to dispatches and uploads its constants.
  ///
  /// - Throws: where an operation is declined, a constant cannot be read, or memory is short.
  public func compile(
    _ segment: Segment,
    over source: any WeightSource
  ) throws -> any Executable {
    try segment.graph.checkVerdicts(of: profile)
    let graph = try segment.graph.applying([GatedGeluFusion()])
    let lowering = try GPULowering(graph, over: source, context: context, store: store)
    return try GPUExecutable(lowering, arena: arena, queue: queue, source: source)
  }

  /// The segment's memory as `compile` would lay it out.
  ///
  /// - Throws: where an operation is declined.
  public func footprint(of segment: Segment) throws -> Footprint {
    try segment.graph.checkVerdicts(of: profile)
    let graph = try segment.graph.applying([GatedGeluFusion()])
    return try GPULowering(graph, over: nil, context: context, store: store).footprint
  }

  /// Copies bytes.
  public func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    queue.submit("copy", after: after) {
      target.pointer.copyMemory(from: source.pointer, byteCount: source.type.byteCount)
    }
  }
}
