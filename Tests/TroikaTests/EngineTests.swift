import Foundation
import Graph
import Models
import TestSupport
import Testing
@testable import Troika

/// The decoder on the neural engine: any cut, batch and length gives the tokens of the unsplit model.
@Suite struct EngineTests {
  private static func load(
    _ ends: [Int],
    prefill: [Int],
    context: Int = 1024,
    sharedLayers: TextDecoder.SharedLayers = .last,
    model: URL = GenerationTests.model
  ) async throws -> Troika {
    let layers = try ModelFolder(path: model.path).model.configuration.text.layers.count
    return try await Troika.load(
      model: model,
      options: .init(
        placement: try Placement(parsing: "chunks=neuralEngine"),
        layout: ChunkLayout(ends: ends, layerCount: layers),
        context: context,
        prefillShapes: prefill,
        sharedLayers: sharedLayers,
        threads: 2
      )
    )
  }

  /// Words that make a prompt of exactly this many tokens.
  private static func prompt(_ troika: Troika, tokens: Int) async throws -> String {
    var words = "a"
    let options = GenerationOptions(maxTokens: 1, ignoresStopTokens: true)
    let base = try await troika.respond(to: Request(prompt: words, media: [], options: options))
    words += String(repeating: " a", count: tokens - base.promptTokens)
    return words
  }

  private static func tokens(
    _ troika: Troika,
    _ prompt: String,
    count: Int = 12
  ) async throws -> Response {
    try await GenerationTests.greedy(troika, [], prompt: prompt, tokens: count)
  }

  @Test(arguments: [[10], [5, 10], [3, 8, 10], [3, 6, 8, 10]])
  func everyCutAndBatchGivesTheTokensOfTheUnsplitModel(_ ends: [Int]) async throws {
    let unsplit = try await Self.load([10], prefill: [512])
    for length in [20, 64, 65, 130, 513, 600] {
      let prompt = try await Self.prompt(unsplit, tokens: length)
      let expected = try await Self.tokens(unsplit, prompt)
      #expect(expected.promptTokens == length)
      for prefill in length < 200 ? [[1], [64], [64, 512]] : [[64], [64, 512]] {
        let split = try await Self.load(ends, prefill: prefill)
        let got = try await Self.tokens(split, prompt)
        #expect(got.tokens == expected.tokens, "\(ends) \(prefill) \(length)")
      }
    }
  }

  @Test(arguments: [[10], [3, 6, 8, 10]])
  func runningSharedLayersForAllRowsChangesNoToken(_ ends: [Int]) async throws {
    let last = try await Self.load(ends, prefill: [16, 64])
    let all = try await Self.load(ends, prefill: [16, 64], sharedLayers: .all)
    for length in [17, 64, 150] {
      let prompt = try await Self.prompt(last, tokens: length)
      let expected = try await Self.tokens(last, prompt)
      #expect(try await Self.tokens(all, prompt).tokens == expected.tokens, "\(ends) \(length)")
    }
  }

  @Test func theContextEndsWhereItSays() async throws {
    let troika = try await Self.load([3, 6, 8, 10], prefill: [16, 64], context: 100)
    let prompt = try await Self.prompt(troika, tokens: 90)
    let response = try await Self.tokens(troika, prompt, count: 50)
    #expect(response.finishReason == .context)
    let cpu = try await GenerationTests.load(context: 100)
    let expected = try await Self.tokens(cpu, prompt, count: 50)
    #expect(response.tokens.count == expected.tokens.count)
  }

  /// A ring of the window alone cannot step back: what the second turn changes is run again.
  @Test func aSecondTurnAnswersAsAFreshConversation() async throws {
    let troika = try await Self.load([3, 6, 8, 10], prefill: [16, 64])
    let options = GenerationOptions(maxTokens: 10, ignoresStopTokens: true)
    let chat = troika.chat(options: options)
    let first = try await chat.send("tell me a story of some length please")
    let second = try await chat.send("and another one")
    let turns = [
      ChatMessage(.user, "tell me a story of some length please"),
      ChatMessage(.assistant, first.text), ChatMessage(.user, "and another one"),
    ]
    let request = Request(messages: turns, options: options)
    let fresh = try await troika.respond(to: request)
    #expect(second.tokens == fresh.tokens)
  }

  @Test func layersOfAnE2BShapedBundleAreOneProgramOrFour() async throws {
    let bundle = try TemporaryBundle(
      SyntheticModel(.tiny).source,
      BundleWriter(
        weights: .int4,
        layout: try #require(ChunkLayout(ends: [2, 5, 7, 10], layerCount: 10)),
        prefill: [16, 64],
        context: 256
      )
    )
    let split = try await Self.load([2, 5, 7, 10], prefill: [16, 64], model: bundle.url)
    let whole = try await Self.load([10], prefill: [16, 64], model: bundle.url)
    for text in ["one", String(repeating: "long prompt ", count: 12)] {
      let expected = try await Self.tokens(whole, text)
      #expect(try await Self.tokens(split, text).tokens == expected.tokens)
    }
  }
}
