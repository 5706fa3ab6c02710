import Foundation
import Graph
import Models
import TestSupport
import Testing
import Troika

@Suite struct ChatTests {
  private let options = GenerationOptions(maxTokens: 12)

  @Test func aSecondTurnPrefillsOnlyWhatIsNew() async throws {
    let troika = try await GenerationTests.load()
    let chat = troika.chat(system: "Be brief.", options: options)
    let first = try await chat.send("What is this?", media: [.image(GenerationTests.wide)])
    let second = try await chat.send("And what colour?")
    #expect(first.cachedTokens == 0)
    #expect(second.cachedTokens > first.promptTokens - 2)
    #expect(second.timings.encodeNanoseconds < first.timings.encodeNanoseconds)

    let turns = await chat.turns
    #expect(turns.map(\.role) == [.system, .user, .assistant, .user, .assistant])
    let fresh = try await troika.respond(
      to: Request(
        messages: Array(turns.dropLast()),
        media: [Medium(.image, 0): .image(GenerationTests.wide)],
        options: options
      )
    )
    #expect(fresh.cachedTokens == 0)
    #expect(fresh.tokens == second.tokens)
  }

  @Test func aFailedTurnLeavesTheConversationAsItWas() async throws {
    let chat = try await GenerationTests.load().chat(options: options)
    let first = try await chat.send("Hello")
    await #expect(throws: (any Error).self) {
      try await chat.send("Look", media: [.image(URL(fileURLWithPath: "/nonexistent.png"))])
    }
    #expect(await chat.turns.count == 2)
    let next = try await chat.send("Hello again")
    #expect(!first.tokens.isEmpty && !next.tokens.isEmpty)
  }

  @Test func mixedMediaGoWhereTheyStand() async throws {
    let troika = try await GenerationTests.load()
    let parts: [PromptPart] = [
      .text("First"), .image(GenerationTests.wide), .text("then"), .audio(GenerationTests.tone),
    ]
    let text = try await troika.generate(parts, options: options)
    let placed = try Request(
      prompt: "First<|image|>then<|audio|>",
      media: [.audio(GenerationTests.tone), .image(GenerationTests.wide)],
      options: options
    )
    #expect(try await troika.respond(to: placed).text == text)
    #expect(throws: PromptError.self) {
      try Request(prompt: "<|image|><|image|>", media: [.image(GenerationTests.wide)])
    }
  }

  @Test func rewindingTwiceDoesNotReadOverwrittenRows() async throws {
    let troika = try await GenerationTests.load(batch: 64, context: 4096)
    let conversation = Conversation(troika)
    let words = (0..<100).map { "word\($0)" }
    let options = GenerationOptions(maxTokens: 6, ignoresStopTokens: true)
    for text in [
      words.joined(separator: " "), words.prefix(86).joined(separator: " ") + " z",
      words.prefix(73).joined(separator: " ") + " q",
    ] {
      let request = try Request(prompt: text, media: [], options: options)
      let kept = try await conversation.respond(to: request)
      let fresh = try await troika.respond(to: request)
      #expect(kept.tokens == fresh.tokens)
    }
  }

  @Test func aChatKeepsWhatItSaw() async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).png")
    defer { try? FileManager.default.removeItem(at: url) }
    try FileManager.default.copyItem(at: GenerationTests.wide, to: url)
    let troika = try await GenerationTests.load()
    let chat = troika.chat(options: options)
    let first = try await chat.send("What?", media: [.image(url)])
    try FileManager.default.removeItem(at: url)
    let second = try await chat.send("And?")
    #expect(second.softTokens == first.softTokens)
    try FileManager.default.copyItem(at: GenerationTests.gray, to: url)
    let third = try await chat.send("Now?", media: [.image(url)])
    #expect(third.softTokens == first.softTokens + 63)
  }

  @Test func turnsAskedForAtOnceAreTakenInTurn() async throws {
    let chat = try await GenerationTests.load().chat(options: options)
    async let one = chat.send("One", media: [.image(GenerationTests.wide)])
    async let two = chat.send("Two", media: [.image(GenerationTests.gray)])
    let soft = try await [one.softTokens, two.softTokens].sorted()
    #expect(soft[1] == 65 + 63)
    #expect(await chat.turns.count == 4)
  }

  @Test func cachesDependOnTheMediaRule() async throws {
    let conversation = Conversation(try await GenerationTests.load())
    var request = try Request(prompt: "What?", media: [.image(GenerationTests.wide)])
    var answers: [[Int]] = []
    for rule in [MediaPerLayerInput.pad, .zero] {
      request.options = GenerationOptions(
        maxTokens: 4,
        mediaPerLayer: rule,
        ignoresStopTokens: true
      )
      answers.append(try await conversation.respond(to: request).tokens)
    }
    #expect(answers[0] != answers[1])
  }
}
