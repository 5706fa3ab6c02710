import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// Whole requests whose units run at the same time: errors, cancellation, turns, sessions.
@Suite struct OverlapRequestTests {
  static let placement = "vision=gpu:emulated,audio=neuralEngine,chunks=cpu"

  static func load(
    _ placement: String = placement,
    overlaps: Bool = true,
    inject: String? = nil,
    allowsFallback: Bool = true
  ) async throws -> Troika {
    try await Troika.load(
      model: GenerationTests.model,
      options: .init(
        placement: try Placement(parsing: placement),
        context: 1024,
        prefillShapes: [16, 64],
        threads: 1,
        allowsFallback: allowsFallback,
        faults: try inject.map { try FaultPlan(parsing: $0) } ?? FaultPlan(),
        overlaps: overlaps
      )
    )
  }

  static func request(_ prompt: Int = 2, tokens: Int = 8) -> Request {
    Request(
      PromptFixture.prompts[prompt],
      options: GenerationOptions(maxTokens: tokens, ignoresStopTokens: true)
    )
  }

  @Test(arguments: [
    placement, "vision=gpu:emulated,chunks=neuralEngine,head=cpu",
    "vision=gpu:emulated,chunks=neuralEngine",
  ])
  func tokensAreThoseOfASerialRun(_ text: String) async throws {
    let (together, alone) = (
      try await Self.load(text), try await Self.load(text, overlaps: false)
    )
    for prompt in PromptFixture.prompts.indices {
      let left = try await together.respond(to: Self.request(prompt))
      let right = try await alone.respond(to: Self.request(prompt))
      #expect(left.tokens == right.tokens && left.tokens.count == 8)
      #expect(left.plannedByteCount > 0 && left.promptTaskCount > 0)
      #expect(right.overlap.gain <= 1)
      #expect(left.overlap.bound.nanoseconds <= left.overlap.makespanNanoseconds)
    }
  }

  @Test func timelinesHoldEverythingUpToTheFirstToken() async throws {
    let response = try await Self.load().respond(to: Self.request())
    let prompt = response.timeline.before(task: response.promptTaskCount)
    #expect(prompt.events.count == response.promptTaskCount)
    #expect(prompt.units == [.cpu, .emulatedGPU, .host])
    #expect(prompt.endNanoseconds - prompt.startNanoseconds <= response.timings.totalNanoseconds)
    let names = prompt.events.filter { $0.unit == .host }.map(\.program)
    #expect(names.count { $0 == "host.media" } == 2 && names.count { $0 == "host.image" } == 2)
    #expect(names.count { $0 == "host.features" } == 2)
    let decode = response.timeline.events.filter { ($0.task ?? 0) >= response.promptTaskCount }
    #expect(decode.allSatisfy { $0.after == [($0.task ?? 0) - 1] })
  }

  /// An encoding that fails for good ends the request, and what comes next works.
  @Test(arguments: ["fail", "nan", "gone", "hang"])
  func anEncodingThatFailsEndsTheRequest(_ kind: String) async throws {
    let limit = kind == "hang" ? ",limit=2s" : ""
    let troika = try await Self.load(
      inject: "gpu:emulated:\(kind)@vision#2" + limit,
      allowsFallback: false
    )
    let error = await #expect(throws: DeviceError.self) {
      try await troika.respond(to: Self.request())
    }
    #expect(error?.unit == .emulatedGPU)
    let text = try await troika.respond(to: Self.request(0))
    #expect(text.tokens == (try await Self.load().respond(to: Self.request(0))).tokens)
    guard kind == "fail" || kind == "nan" else { return }
    let again = try await troika.respond(to: Self.request())
    #expect(again.tokens == (try await Self.load().respond(to: Self.request())).tokens)
  }

  @Test(arguments: ["fail", "nan", "gone", "hang", "compile"])
  func anEncodingThatMovesGivesAnAnswer(_ kind: String) async throws {
    let limit = kind == "hang" ? ",limit=2s" : ""
    let turn = kind == "compile" ? "" : "#2"
    let troika = try await Self.load(inject: "gpu:emulated:\(kind)@vision\(turn)" + limit)
    let response = try await troika.respond(to: Self.request())
    #expect(response.tokens.count == 8 && response.warnings.count == 1)
    let failed = response.timeline.events.filter { $0.kind == .fault }
    #expect(failed.map(\.program) == ["vision (failed)"])
    #expect(failed.allSatisfy { $0.task != nil })
  }

  /// Cancelled before any of a prompt's tasks: no error, and the conversation goes on as a fresh one.
  @Test(arguments: ["encode", "prefill"], [1, 2])
  func cancellationLeavesAConversationThatGoesOn(_ stage: String, _ turn: Int) async throws {
    let troika = try await Self.load()
    let conversation = Conversation(troika)
    let stopper = Stopper()
    let seen = Turns(stage, turn)
    let task = Task {
      try await conversation.respond(
        to: Self.request(),
        onProgress: { if seen.isReached(by: $0) { stopper.stop() } }
      )
    }
    stopper.set { task.cancel() }
    let cancelled = try await task.value
    #expect(cancelled.finishReason == .cancelled)
    #expect(cancelled.tokens.isEmpty)
    let next = try await conversation.respond(to: Self.request())
    let fresh = try await troika.respond(to: Self.request())
    #expect(next.tokens == fresh.tokens && next.finishReason == .length)
  }

  @Test func progressCountsEncodingsAndPositions() async throws {
    let seen = Turns("", 0)
    let response = try await Self.load().respond(
      to: Self.request(),
      onProgress: { _ = seen.isReached(by: $0) }
    )
    let encodes = seen.all.filter { $0.stage == "encode" }
    #expect(encodes.map(\.done) == [0, 1])
    #expect(encodes.allSatisfy { $0.total == 2 })
    let prefills = seen.all.filter { $0.stage == "prefill" }
    #expect(prefills.map(\.done) == prefills.map(\.done).sorted() && prefills.first?.done == 0)
    #expect(prefills.allSatisfy { $0.total == response.promptTokens })
  }

  @Test func aChatReusesWhatItHolds() async throws {
    let options = GenerationOptions(maxTokens: 6, ignoresStopTokens: true)
    func turns(_ troika: Troika) async throws -> [Response] {
      let chat = troika.chat(options: options)
      let image = MediaSource.image(GenerationTests.wide)
      let first = try await chat.send(PromptFixture.words, media: [image])
      let second = try await chat.send("And this?", media: [.image(GenerationTests.gray)])
      return [first, second, try await chat.send("Which of them?")]
    }
    let together = try await turns(try await Self.load())
    let alone = try await turns(try await Self.load(overlaps: false))
    #expect(together.map(\.tokens) == alone.map(\.tokens))
    #expect(together.map(\.cachedTokens) == alone.map(\.cachedTokens))
    #expect(together[1].cachedTokens > 0 && together[2].cachedTokens > together[1].cachedTokens)
    #expect(together[2].timeline.events.allSatisfy { $0.program != "vision" })
  }

  @Test func sessionsShareTheUnitsAndNothingElse() async throws {
    let troika = try await Self.load()
    let alone = try await Self.load(overlaps: false)
    try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
      for index in 0..<4 {
        group.addTask { (index, try await troika.respond(to: Self.request(2 + index)).tokens) }
      }
      for try await (index, tokens) in group {
        #expect(tokens == (try await alone.respond(to: Self.request(2 + index))).tokens)
      }
    }
  }
}

/// What was said about progress; thread-safe.
private final class Turns: @unchecked Sendable {
  private let lock = NSLock()
  private let stage: String
  private let turn: Int
  private var seen: [RequestProgress] = []

  init(_ stage: String, _ turn: Int) {
    self.stage = stage
    self.turn = turn
  }

  var all: [RequestProgress] {
    lock.lock()
    defer { lock.unlock() }
    return seen
  }

  /// Whether the stage begins a piece of work for so many times now.
  func isReached(by progress: RequestProgress) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    seen.append(progress)
    return progress.stage == stage && seen.count { $0.stage == stage } == turn
  }
}
