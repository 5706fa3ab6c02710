import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// Prompts whose tasks run at the same time give what they give one after another.
@Suite struct OverlapTests {
  static let placements = [
    "cpu", "vision=gpu:emulated,chunks=cpu",
    "vision=gpu:emulated,audio=neuralEngine,chunks=cpu",
    "vision=gpu:emulated,audio=gpu:emulated,chunks=neuralEngine",
    "chunk1=cpu,chunk2=neuralEngine,chunk3=gpu:emulated,chunk4=cpu",
    "vision=reference,chunk1=gpu:emulated,chunk2=cpu,embed=cpu,head=cpu",
  ]

  @Test(arguments: placements)
  func logitsAreThoseOfASerialRun(_ placement: String) throws {
    for (index, prompt) in PromptFixture.prompts.enumerated() {
      let serial = try PromptFixture(placement).run(prompt, serially: true)
      let overlapped = try PromptFixture(placement).run(prompt, serially: false)
      #expect(!serial.logits.isEmpty)
      #expect(serial.logits == overlapped.logits, "\(placement), prompt \(index)")
      let names = overlapped.timeline.taskGraph.graph.tasks.map(\.program)
      #expect(serial.timeline.taskGraph.graph.tasks.map(\.program) == names)
    }
  }

  @Test(arguments: placements)
  func aUnitRunsOneThingAtATimeBehindWhatItNeeds(_ placement: String) throws {
    let timeline = try PromptFixture(placement)
      .run(PromptFixture.prompts[5], serially: false).timeline
    let ends = Dictionary(
      uniqueKeysWithValues: timeline.events.map { ($0.task ?? -1, $0.endNanoseconds) }
    )
    #expect(ends.count == timeline.events.count)
    for event in timeline.events {
      for earlier in event.after {
        #expect(earlier < (event.task ?? -1))
        #expect(ends[earlier] ?? .max <= event.startNanoseconds)
      }
    }
    for unit in timeline.units {
      let own = timeline.events.filter { $0.unit == unit && $0.kind != .compile }
      for (first, second) in zip(own, own.dropFirst()) {
        #expect(first.endNanoseconds <= second.startNanoseconds)
      }
      let idle = timeline.idle(of: unit).reduce(0) { $0 + $1.nanoseconds }
      #expect(timeline.busyNanoseconds(of: unit) + idle == timeline.makespanNanoseconds)
    }
    let overlap = Overlap(timeline)
    #expect(overlap.bound.nanoseconds <= overlap.makespanNanoseconds)
    #expect(overlap.bound.criticalPathNanoseconds > 0)
    let busy = overlap.units.reduce(0) { $0 + $1.busyNanoseconds }
    let compiling = timeline.events.filter { $0.kind == .compile }
    #expect(!compiling.isEmpty)
    #expect(busy + compiling.reduce(0) { $0 + $1.nanoseconds } == overlap.serialNanoseconds)
  }

  /// Each encoding stays in its unit until another unit has begun the batch before its medium.
  @Test func anEncodingRunsWhileWhatStandsBeforeItIsPrefilled() throws {
    let begun = Turnstile()
    let registry = Registry(threads: 1)
    let inner = (vision: try registry.unit(.emulatedGPU), chunks: try registry.unit(.cpu))
    let gated =
      registry.replacing(.emulatedGPU) {
        GatedUnit(inner.vision) { name in
          begun.note(name)
          try begun.wait(for: "chunk1", count: 1)
        }
      }.replacing(.cpu) {
        GatedUnit(inner.chunks) { name in
          guard name.hasPrefix("chunk1.") else { return }
          begun.note("chunk1")
          try begun.wait(for: "vision", count: 1)
        }
      }
    let fixture = try PromptFixture("vision=gpu:emulated,chunks=cpu", registry: gated)
    let prompt = PromptFixture.prompts[2]
    let result = try fixture.run(prompt, serially: false)
    let expected = try PromptFixture("vision=gpu:emulated,chunks=cpu").run(prompt, serially: true)
    #expect(result.logits == expected.logits)
    let vision = try #require(result.timeline.events.first { $0.program == "vision" })
    let chunk = try #require(result.timeline.events.first { $0.program == "chunk1.prefill64" })
    #expect(vision.startNanoseconds < chunk.endNanoseconds)
    #expect(chunk.startNanoseconds < vision.endNanoseconds)
  }

  @Test func audioIsEncodedBesideVision() throws {
    let begun = Turnstile()
    let registry = Registry(threads: 1)
    let units = (left: try registry.unit(.emulatedGPU), right: try registry.unit(.neuralEngine))
    let gated =
      registry.replacing(.emulatedGPU) {
        GatedUnit(units.left) { name in
          begun.note("vision")
          try begun.wait(for: "audio", count: 1)
        }
      }.replacing(.neuralEngine) {
        GatedUnit(units.right) { name in
          begun.note("audio")
          try begun.wait(for: "vision", count: 1)
        }
      }
    let placement = "vision=gpu:emulated,audio=neuralEngine,chunks=cpu"
    let result = try PromptFixture(placement, registry: gated)
      .run(PromptFixture.prompts[3], serially: false)
    #expect(!result.logits.isEmpty)
  }

  @Test func batchesEndBeforeMediaOfOtherUnits() throws {
    let parts = PromptFixture.prompts[2]
    func lengths(_ placement: String, prefill: [Int] = [512]) throws -> [Range<Int>] {
      try PromptFixture(placement, prefill: prefill).tasks(parts).steps.map(\.step.positions)
    }
    let spans = try spans(parts)
    let cut = try lengths("vision=gpu:emulated,chunks=cpu")
    #expect(cut.map(\.lowerBound) == [0] + spans.map(\.lowerBound))
    #expect(try lengths("cpu").count == 1)
    #expect(try lengths("audio=gpu:emulated,chunks=cpu").count == 1)
    // Programs of fixed shapes would run more rows of padding than that is worth.
    #expect(try lengths("vision=gpu:emulated,chunks=neuralEngine").count == 1)
    for batches in [cut, try lengths("vision=gpu:emulated,chunks=cpu", prefill: [16])] {
      for (first, second) in zip(batches, batches.dropFirst()) {
        #expect(first.upperBound == second.lowerBound)
      }
    }
  }

  /// A batch ends inside no medium of a model that sees whole ones, however small batches are.
  @Test(arguments: ["cpu", "vision=gpu:emulated,chunks=cpu"], [[16], [64], [512]])
  func mediaStayWholeWhereTheModelSeesThemWhole(_ text: String, _ prefill: [Int]) throws {
    for parts in [PromptFixture.prompts[2], PromptFixture.prompts[5]] {
      func fixture() throws -> PromptFixture {
        try PromptFixture(text, prefill: prefill, seesWholeMedia: true)
      }
      let batches = try fixture().tasks(parts).steps.map(\.step.positions)
      for span in try spans(parts) {
        #expect(
          batches.contains { $0.lowerBound <= span.lowerBound && span.upperBound <= $0.upperBound }
        )
      }
      let serial = try fixture().run(parts, serially: true)
      #expect(try fixture().run(parts, serially: false).logits == serial.logits)
    }
  }

  private func spans(_ parts: [PromptPart]) throws -> [Range<Int>] {
    let folder = try ModelFolder(path: GoldenFolder.model)
    let request = Request(parts, options: GenerationOptions())
    let loader = MediaLoader(processor: folder.processor)
    let extents = try request.media.mapValues { try loader.load($0).extent }
    let pieces = try folder.template.pieces(request.messages)
    return try folder.encoder.encode(pieces, extents: extents).spans.map(\.range)
  }

  @Test func stretchesOfFewRowsAreJoined() {
    #expect(PromptBatches.stretches(of: 0..<100, cuts: []) == [0..<100])
    #expect(PromptBatches.stretches(of: 0..<100, cuts: [10, 50, 60]) == [0..<50, 50..<100])
    #expect(PromptBatches.stretches(of: 20..<100, cuts: [0, 20, 52]) == [20..<52, 52..<100])
    #expect(PromptBatches.isWorth(cut: [64, 64], whole: [128]))
    #expect(!PromptBatches.isWorth(cut: [64, 64], whole: [64]))
  }

  /// Few encodings and batches are under way at a time, whatever the units' speeds.
  @Test func whatIsUnderWayIsBounded() throws {
    let images = [PromptPart](repeating: .image(GenerationTests.wide), count: 7)
    let run = try PromptFixture("vision=gpu:emulated,chunks=cpu").tasks(images + [.text("?")])
    let tasks = run.graph.tasks
    let encodes = tasks.indices.filter { tasks[$0].program == "vision" }
    let prepared = tasks.indices.filter { tasks[$0].program == "host.image" }
    #expect(encodes.count == 7 && prepared.count == 7)
    for index in 2..<7 { #expect(tasks[prepared[index]].after.contains(encodes[index - 2])) }
    let embeds = tasks.indices.filter { tasks[$0].program == "embed" }
    for index in 2..<embeds.count {
      #expect(tasks[embeds[index]].after == [run.steps[index - 2].last])
    }
  }
}
