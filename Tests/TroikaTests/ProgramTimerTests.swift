import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Troika

/// A clock that stands still until someone moves it.
final class StillClock: @unchecked Sendable {
  private let lock = NSLock()
  private var now = 0

  func advance(_ nanoseconds: Int) { lock.withLock { now += nanoseconds } }
  func read() -> Int { lock.withLock { now } }
}

/// A unit over another one: a launch moves a clock on by what a program takes.
struct ClockedUnit: ComputeUnit {
  let inner: any ComputeUnit
  let clock: StillClock
  /// Nanoseconds of a launch, by program.
  let duration: @Sendable (String) -> Int
  var profile: UnitProfile { inner.profile }

  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable {
    Wrapped(
      inner: try inner.compile(segment, over: source),
      clock: clock,
      nanoseconds: duration(segment.graph.name)
    )
  }

  func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    inner.copy(source, to: target, after: after)
  }

  private struct Wrapped: Executable {
    let inner: any Executable
    let clock: StillClock
    let nanoseconds: Int
    var footprint: Footprint { inner.footprint }

    func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
      clock.advance(nanoseconds)
      return try inner.launch(bindings, after: after)
    }
  }
}

@Suite struct ProgramTimerTests {
  /// Work that notes each call and takes as long as it says.
  private final class Noted: TimedWork {
    let name: String
    let clock: StillClock
    let nanoseconds: Int
    var log: (String) -> Void = { _ in }

    init(_ name: String, _ clock: StillClock, _ nanoseconds: Int) {
      (self.name, self.clock, self.nanoseconds) = (name, clock, nanoseconds)
    }

    func run() -> [Timeline.Event] {
      log(name)
      clock.advance(nanoseconds)
      return []
    }
  }

  static func store(
    on unit: UnitID,
    _ registry: Registry = Registry(threads: 2)
  ) throws -> ProgramStore {
    let folder = try ModelFolder(path: GoldenFolder.model)
    return ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: registry,
      placement: Placement(base: unit)
    )
  }

  @Test func worksTakeTurns() throws {
    let clock = StillClock()
    let works = [Noted("a", clock, 5), Noted("b", clock, 7)]
    var order = ""
    for work in works { work.log = { order += $0 } }
    let timer = ProgramTimer(
      warmUps: 1,
      repeats: 3,
      fewest: 1,
      leadNanoseconds: 0,
      clock: clock.read
    )
    var calls: [Int] = []
    let timings = try timer.time(works) { done, total in
      #expect(total == 10)
      calls.append(done)
    }
    #expect(order == "ababababab")
    #expect(calls == Array(0..<10))
    #expect(timings.map(\.first) == [5, 7])
    #expect(timings[1].warmUp == [7] && timings[1].steady == [7, 7, 7])
    #expect(timings[0].rounds == [0, 1, 2] && timings[0].total == 25)
  }

  @Test func slowWorkGetsFewerSamplesSpreadOverTheRounds() throws {
    let clock = StillClock()
    let works = [Noted("fast", clock, 1), Noted("slow", clock, 100), Noted("slower", clock, 900)]
    let timer = ProgramTimer(
      warmUps: 1,
      repeats: 12,
      fewest: 3,
      budgetNanoseconds: 400,
      leadNanoseconds: 0,
      clock: clock.read
    )
    let timings = try timer.time(works)
    #expect(timings.map(\.steady.count) == [12, 4, 3])
    #expect(timings[1].rounds == [2, 5, 8, 11])
    #expect(timings[2].rounds == [3, 7, 11])
  }

  @Test func shortWorkIsCalledOnceMoreBeforeEachSample() throws {
    let clock = StillClock()
    let works = [Noted("s", clock, 5), Noted("l", clock, 50)]
    var order = ""
    for work in works { work.log = { order += $0 } }
    let timer = ProgramTimer(warmUps: 0, repeats: 2, leadNanoseconds: 10, clock: clock.read)
    let timings = try timer.time(works) { _, total in #expect(total <= 8) }
    #expect(order == "slsslssl")
    #expect(timings[0].warmUp == [5, 5] && timings[0].steady == [5, 5])
    #expect(timings[1].warmUp.isEmpty && timings[1].steady == [50, 50])
  }

  @Test func whatIsConstantTakesPartInEveryRound() throws {
    let clock = StillClock()
    let works = [Noted("constant", clock, 900), Noted("slow", clock, 900)]
    let timer = ProgramTimer(
      warmUps: 0,
      repeats: 9,
      fewest: 2,
      budgetNanoseconds: 1,
      clock: clock.read
    )
    #expect(try timer.time(works, constant: 1).map(\.steady.count) == [9, 2])
  }

  @Test(arguments: [UnitID.cpu, .reference, .neuralEngine, .emulatedGPU])
  func everyKindOfProgramRunsOnNoise(_ unit: UnitID) throws {
    let store = try Self.store(on: unit)
    let text = store.model.text
    let decoder = try DecoderPrograms(
      in: store,
      text: text,
      layout: ChunkLayout(standardFor: text.configuration),
      placement: store.placement,
      context: 64,
      batch: 16,
      hasFixedShapes: true,
      sharedLayers: .last
    )
    var keys: [ProgramStore.Key] = [.vision(patches: 36, taps: []), .audio(frames: 40, taps: [])]
    keys += [.embed(tokens: 16), .head(rows: 1, .decode, taps: [])]
    keys += decoder.keys(tokens: 16, .prefill) + decoder.keys(tokens: 1, .decode)
    for key in keys {
      let program = try TimedProgram(key, in: store, position: 20)
      #expect(try !program.run().isEmpty)
      for output in program.program.graph.outputs {
        let value = try #require(program.bindings[output.name])
        guard value.type.dtype == .f32 else { continue }
        let isFinite = value.floats.allSatisfy { $0.isFinite }
        #expect(isFinite, "\(program.name) \(output.name)")
      }
    }
  }

  @Test func aStepStandsElsewhereOverTheSameMemory() throws {
    let store = try Self.store(on: .cpu)
    let key = ProgramStore.Key.embed(tokens: 2)
    let first = try TimedProgram(key, in: store, position: 3)
    let moved = try first.standing(at: 40, in: store.model)
    #expect(first.bindings["positions"]?.integers == [3, 4])
    #expect(moved.bindings["positions"]?.integers == [40, 41])
    #expect(moved.bindings["hidden"]?.pointer == first.bindings["hidden"]?.pointer)
  }

  @Test func whatAUnitTakesIsWhatTheTimerSees() throws {
    let clock = StillClock()
    let registry = Registry(threads: 1).replacing(.cpu) {
      ClockedUnit(inner: try CPUUnit(threads: 1), clock: clock) { $0.hasPrefix("head") ? 30 : 10 }
    }
    let store = try Self.store(on: .cpu, registry)
    let programs = try [ProgramStore.Key.embed(tokens: 1), .head(rows: 1, .decode, taps: [])].map {
      try TimedProgram($0, in: store, clock: clock.read)
    }
    let timer = ProgramTimer(
      warmUps: 0,
      repeats: 4,
      fewest: 1,
      leadNanoseconds: 0,
      clock: clock.read
    )
    #expect(try timer.time(programs).map(\.steady) == [[10, 10, 10, 10], [30, 30, 30, 30]])
    #expect(programs.allSatisfy { $0.compileNanoseconds == 0 && $0.fallbacks.isEmpty })
  }
}
