import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// The Vulkan units that tests share.
enum TestGPU {
  /// A unit for each way values can be bound, made once: opening a device takes a while.
  static let unit = try? GPUUnit(options(imports: true))
  static let copying = try? GPUUnit(options(imports: false))
  /// The kernels for devices with shared memory of their own, wherever they can run.
  static let tiled: GPUUnit? = {
    var options = TestGPU.options(imports: true)
    options.family = .tiles
    return try? GPUUnit(options)
  }()
  /// Those with cooperative matrices, where the device has some that fit.
  static let matrices: GPUUnit? = {
    guard tiled?.device.matrix != nil else { return nil }
    var options = TestGPU.options(imports: true)
    options.family = .tiles
    options.tiles = GPUTiles(lanes: 8)
    options.tiles?.shared = GPUTiles.Shared(rows: 64, usesMatrices: true)
    return try? GPUUnit(options)
  }()
  static var isAvailable: Bool { unit != nil }

  static func options(imports: Bool) -> GPUOptions {
    var options = GPUOptions()
    options.validates = (try? GPUSystem(validates: true)) != nil
    options.importsMemory = imports
    options.testsItself = false
    return options
  }
}

/// The Vulkan unit against the Reference unit running the same rounded program.
@Suite(.serialized, .enabled(if: TestGPU.isAvailable, "did not run: no Vulkan device"))
struct GPUTests {
  static func inputs(_ problem: OpProblem, _ graph: Graph) throws -> [String: Value] {
    var values: [String: Value] = [:]
    for input in graph.inputs {
      if let numbers = problem.floats[input.name] {
        values[input.name] = try Value(numbers, input.type.shape)
      } else {
        values[input.name] = try Value(problem.integers[input.name] ?? [], input.type.shape)
      }
    }
    return values
  }

  static func run(
    _ graph: Graph,
    _ inputs: [String: Value],
    on unit: any ComputeUnit,
    over weights: MemoryWeights
  ) throws -> [Float] {
    let executable = try unit.compile(Segment(unit: unit.profile.unit, graph: graph), over: weights)
    var values = inputs
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try unit.wait(for: try executable.launch(values, after: []))
    return values["result"]?.floats ?? []
  }

  /// Largest difference in units of what f16 keeps of a number this large.
  static func worst(_ expected: [Float], _ got: [Float], floor: Float) -> Float {
    zip(expected, got).reduce(Float(0)) { worst, pair in
      let difference = abs(pair.0 - pair.1) / (max(abs(pair.0), floor) * 0x1p-10)
      return difference.isNaN ? .infinity : max(worst, difference)
    }
  }

  @Test(arguments: try OpProblem.all())
  func equalsTheRoundedReference(_ problem: OpProblem) throws {
    let graph = try problem.graph.applying(Graph.standardPasses)
    let profile = try #require(TestGPU.unit).profile
    if let node = graph.nodes.first(where: { $0.op.kind == "maskedAttention" }) {
      #expect(profile.verdict(node, in: graph) != .runs)
      return
    }
    let inputs = try Self.inputs(problem, graph)
    let expected = try Self.run(
      try graph.applying([HalfStorage()]),
      inputs,
      on: ReferenceUnit(),
      over: problem.weights
    )
    let units = try [TestGPU.unit, TestGPU.copying, TestGPU.tiled].map { try #require($0) }
    for unit in units + [TestGPU.matrices].compactMap({ $0 }) {
      let got = try Self.run(graph, inputs, on: unit, over: problem.weights)
      let scale = expected.reduce(0) { max($0, abs($1)) }
      let worst = Self.worst(expected, got, floor: max(scale * 0x1p-9, 6.1e-5))
      #expect(got.count == expected.count && worst <= 1.01, "\(problem): \(worst)")
      #expect(unit.validationMessages.count == 0, "\(unit.validationMessages.last)")
    }
  }
}
