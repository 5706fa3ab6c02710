import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// Whatever launch fails, in whatever way: the logits are, bit for bit, those of a run in which the
/// part had been on the next unit from that launch on.
@Suite(.serialized) struct FaultStepTests {
  static let placements: [(String, UnitID)] = [
    ("chunks=neuralEngine", .neuralEngine), ("chunks=gpu:emulated", .emulatedGPU),
    ("chunks=neuralEngine,head=gpu:emulated", .emulatedGPU), ("embed=reference", .reference),
    ("chunks=neuralEngine,text.layers.4.*=gpu:emulated", .emulatedGPU),
  ]

  private func check(
    _ steps: FaultSteps,
    _ unit: UnitID,
    _ kinds: [Fault.Kind],
    stride: Int,
    limit: Int? = nil
  ) throws {
    let launches = try steps.launches(on: unit)
    #expect(launches.count >= 4)
    let isLoss = kinds == [.gone] || kinds == [.hang]
    for index in Swift.stride(from: 0, to: launches.count, by: stride) {
      let (step, part) = launches[index]
      let want = try steps.expected(step, part, on: unit, losesUnit: isLoss)
      for kind in kinds {
        let fault = Fault(unit, kind, at: .launch(index + 1))
        let got = try steps.run(FaultPlan([fault], limitNanoseconds: limit))
        #expect(got.logits == want.logits, "\(fault) in \(part) of step \(step)")
        #expect(got.warnings.count == 1, "\(got.warnings)")
        #expect(got.warnings.first?.hasPrefix("\(unit): ") == true)
        let failed = got.events[step].filter { $0.program.hasSuffix(" (failed)") }
        #expect(failed.count == 1 && failed.first?.unit == unit)
        #expect(got.events.joined().count { $0.program.hasSuffix(" (failed)") } == 1)
      }
    }
  }

  @Test(arguments: placements)
  func aLaunchThatFailsHalfwayOrReturnsNaN(_ name: String, _ unit: UnitID) throws {
    try check(FaultSteps(name), unit, [.fail, .nan], stride: 1)
  }

  @Test(arguments: placements)
  func aUnitThatDisappears(_ name: String, _ unit: UnitID) throws {
    try check(FaultSteps(name), unit, [.gone], stride: 3)
  }

  @Test(arguments: placements.prefix(3))
  func aLaunchThatNeverEnds(_ name: String, _ unit: UnitID) throws {
    try check(FaultSteps(name), unit, [.hang], stride: 8, limit: 1_500_000_000)
  }

  @Test func aSlowLaunchChangesNothing() throws {
    let steps = try FaultSteps("chunks=neuralEngine")
    let plain = try steps.run()
    let slow = try steps.run(FaultPlan([Fault(.neuralEngine, .slow(20), at: .launch(9))]))
    #expect(slow.logits == plain.logits && slow.warnings.isEmpty)
  }

  @Test(arguments: ["chunk1.prefill*", "chunk2.decode", "chunk4.*", "chunk3.prefill1"])
  func aProgramThatDoesNotCompile(_ name: String) throws {
    let steps = try FaultSteps("chunks=neuralEngine")
    let plan = try FaultPlan(parsing: "neuralEngine:compile@\(name)")
    let got = try steps.run(plan)
    let failure = DeviceError.launch(unit: "neuralEngine", program: "", reason: "")
    let phases: [Part.Phase] =
      name.contains("decode")
      ? [.decode] : name.contains("prefill") ? [.prefill] : [.prefill, .decode]
    let chunk = try #require(Int(name.dropFirst(5).prefix(1)))
    let want = try steps.run(
      moves: phases.map { .init(step: 0, error: failure, part: .chunk(chunk, $0)) }
    )
    #expect(got.logits == want.logits)
    #expect(got.warnings.count == phases.count)
    #expect(got.warnings.allSatisfy { $0.contains("does not compile: injected") })
  }

  @Test func withoutFallbackTheErrorNamesUnitAndProgram() throws {
    let steps = try FaultSteps("chunks=neuralEngine")
    for (text, limit) in [
      ("fail", nil), ("nan", nil), ("gone", nil), ("compile", nil), ("hang", 1_500_000_000),
    ] as [(String, Int?)] {
      var plan = try FaultPlan(parsing: "neuralEngine:\(text)@chunk2.decode")
      plan.limitNanoseconds = limit
      let error = #expect(throws: DeviceError.self, "\(text)") {
        try steps.run(plan, allowsFallback: false)
      }
      #expect(error?.unit == .neuralEngine)
      #expect(error?.program == "chunk2.decode")
    }
  }

  @Test func theProcessorHasNoNextUnit() throws {
    let steps = try FaultSteps("cpu")
    let error = #expect(throws: DeviceError.self) {
      try steps.run(try FaultPlan(parsing: "cpu:fail@chunk1.decode#2"))
    }
    #expect(error?.unit == .cpu)
    let both = try FaultSteps("chunks=neuralEngine")
    let second = #expect(throws: DeviceError.self) {
      try both.run(
        try FaultPlan(parsing: "neuralEngine:fail@chunk1.decode,cpu:fail@chunk1.decode#1")
      )
    }
    #expect(second?.unit == .cpu)
  }

  @Test func rowsThatALaunchWritesArePutBack() throws {
    let tracer = Tracer("update", over: MemoryWeights())
    let cache = tracer.input("keys", TensorType(.f32, [6, 1, 2]))
    let rows = tracer.input("rows", TensorType(.f32, [4, 1, 2]))
    let position = tracer.input("position", TensorType(.i32, [1]))
    let count = tracer.input("count", TensorType(.i32, [1]))
    let updated = cache.updated(with: rows, position: position, count: count)
    tracer.output("keys", updated, isState: true)
    let graph = try tracer.finish()
    let before = (0..<12).map { Float($0) }
    for (start, real) in [(0, 4), (4, 4), (11, 3), (5, 1), (3, 0)] {
      let state = try Value(before, [6, 1, 2])
      let bindings = [
        "keys": state, "position": try Value([Int32(start)], [1]),
        "count": try Value([Int32(real)], [1]),
      ]
      let written = WrittenRows(of: graph, bindings)
      let kept = try written.kept()
      for piece in written.pieces { piece.rows.fillWithNaN() }
      let spoiled = Set(state.floats.indices.filter { state.floats[$0].isNaN }.map { $0 / 2 })
      #expect(spoiled == Set((start..<start + real).map { $0 % 6 }))
      #expect(state.containsNaN == (real > 0))
      written.restore(kept)
      #expect(state.floats == before)
    }
  }
}
