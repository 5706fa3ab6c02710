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
}
