import CGPU
import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// Devices, failures and caches of the Vulkan unit.
@Suite(.serialized, .enabled(if: TestGPU.isAvailable, "did not run: no Vulkan device"))
struct GPUDeviceTests {
  @Test func selfTestFindsNothingHere() throws {
    for family in GPUOptions.Family.allCases {
      var options = TestGPU.options(imports: true)
      options.testsItself = true
      options.family = family
      guard let unit = try? GPUUnit(options) else { continue }
      let declined = unit.profile.rules.filter { $0.source.hasPrefix("self-test") }
      #expect(declined.isEmpty, "\(family): \(declined.map(\.name))")
      #expect(unit.validationMessages.count == 0, "\(unit.validationMessages.last)")
    }
  }

  @Test func resultsOfTheSelfTestAreKept() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let options = GPUOptions(cacheFolder: folder.path)
    let context = try GPUContext(options)
    let failure = GPUSelfTest.Failure(kind: "gelu", reason: "gelu is off by 7.0")
    context.folder.write(context.selfTestName, try JSONEncoder().encode([failure]))
    let unit = try GPUUnit(options)
    #expect(unit.profile.rules.contains { $0.check == .kinds(["gelu"]) })
    let problem = try #require(try OpProblem.all().first { $0.name == "gelu" })
    let error = #expect(throws: DeviceError.self) {
      try unit.compile(Segment(unit: .gpu, graph: problem.graph), over: problem.weights)
    }
    #expect(error?.description.contains("off by 7.0") == true)
    unit.context.savePipelines()
    #expect(!unit.context.folder.read("pipelines").isEmpty)
  }

  @Test func wrongResultsAreFound() throws {
    let test = try GPUSelfTest()
    let reference = ReferenceUnit()
    let failures = try test.failures { graph, weights in
      // A device that takes every sum for a difference.
      var wrong = Graph(name: graph.name)
      for node in graph.nodes {
        switch node.op {
        case .input, .constant: _ = wrong.append(source: node.op, type: node.type, name: node.name)
        case .binary(.add): _ = try wrong.append(.binary(.subtract), node.inputs, name: node.name)
        default: _ = try wrong.append(node.op, node.inputs, name: node.name)
        }
      }
      for output in graph.outputs { wrong.addOutput(output.name, output.node) }
      let rounded = try wrong.applying([HalfStorage()])
      return try reference.compile(Segment(unit: .reference, graph: rounded), over: weights)
    }
    #expect(failures.contains { $0.kind == "add" && $0.reason.contains("2.0 allowed") })
    #expect(!failures.contains { $0.kind == "linear" || $0.kind == "subtract" })
  }

  @Test func aStuckQueueBecomesAnError() throws {
    var options = TestGPU.options(imports: true)
    options.validates = false
    options.patienceNanoseconds = 50_000_000
    options.compilingNanoseconds = 0
    let context = try GPUContext(options)
    let value = try context.submit("stuck") { tg_submit_stuck(context.handle, $0) }
    let error = #expect(throws: DeviceError.self) {
      try context.wait(value, patience: 50_000_000, "stuck")
    }
    #expect(error?.description.contains("no progress for 50 ms") == true)
    // The device stays failed, and says so at once.
    #expect(throws: DeviceError.self) { try context.run([], program: "next") }
    tg_release_stuck(context.handle)
    #expect(tg_wait(context.handle, value, 10_000_000_000) == 0)
  }

  @Test func aLostDeviceStaysLost() throws {
    let context = try GPUContext(TestGPU.options(imports: true))
    let lost = Int32(TG_DEVICE_LOST.rawValue)
    let error = #expect(throws: DeviceError.self) { try context.submit("part") { _ in lost } }
    let expected = DeviceError.lost(
      unit: UnitNames.gpu,
      program: "part",
      reason: "\(context.device.name) was lost"
    )
    #expect(error == expected)
    let next = #expect(throws: DeviceError.self) { try context.run([], program: "next") }
    #expect(next == expected)
  }

  @Test func devicesArePickedByNameOrIndex() throws {
    let system = try GPUSystem(validates: false)
    let first = try #require(system.devices.first { $0.obstacle == nil })
    #expect(try system.device("\(first.index)") == first)
    #expect(try system.device(first.name.uppercased()) == first)
    let error = #expect(throws: DeviceError.self) { try system.device("no such device") }
    #expect(error?.description.contains(first.name) == true)
  }

  @Test func memoryThatCannotBeHadIsNamed() throws {
    let context = try GPUContext(TestGPU.options(imports: true))
    let error = #expect(throws: DeviceError.self) {
      _ = try GPUBuffer(context, byteCount: 1 << 46)
    }
    #expect(error == .outOfMemory(unit: "gpu", byteCount: 1 << 46))
  }
}
