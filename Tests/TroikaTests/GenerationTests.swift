import Foundation
import Graph
import Models
import TestSupport
import Testing
import Troika

@Suite struct GenerationTests {
  static let model = URL(fileURLWithPath: GoldenFolder.model)
  static let wide = GoldenFolder.url("media/images/wide.png")
  static let gray = GoldenFolder.url("media/images/gray.png")
  static let tone = GoldenFolder.url("media/audio/tone.wav")

  static func load(
    placement: String = "cpu",
    batch: Int = 512,
    context: Int? = nil,
    ends: [Int]? = nil
  ) async throws -> Troika {
    try await Troika.load(
      model: model,
      options: .init(
        placement: try Placement(parsing: placement),
        layout: ends.flatMap { ChunkLayout(ends: $0, layerCount: 10) },
        context: context,
        prefillShapes: [batch],
        threads: 2
      )
    )
  }

  static func greedy(
    _ troika: Troika,
    _ images: [URL] = [wide],
    prompt: String = "Describe this image",
    tokens: Int = 24
  ) async throws -> Response {
    let options = GenerationOptions(maxTokens: tokens, ignoresStopTokens: true)
    return try await troika.respond(
      to: try Request(prompt: prompt, media: images.map { .image($0) }, options: options)
    )
  }

  /// The reference's own tokens for the case `image`.
  static func golden() throws -> [Int] {
    try JSONNode(file: GoldenFolder.tiny + "/cases.json").member("multimodal").member("image")
      .integers("greedy_ids")
  }

  @Test(arguments: [1, 7, 64, 512])
  func anyPrefillBatchGivesTheReferenceTokens(_ batch: Int) async throws {
    let response = try await Self.greedy(try await Self.load(batch: batch))
    #expect(response.tokens == (try Self.golden()))
    #expect(response.promptTokens == 83)
    #expect(response.softTokens == 65)
    #expect(response.finishReason == .length)
  }

  @Test(arguments: [
    [10], [5, 10], [3, 10], [7, 10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [4, 6, 10],
  ])
  func anyCutGivesTheReferenceTokens(_ ends: [Int]) async throws {
    for batch in [16, 512] {
      let response = try await Self.greedy(try await Self.load(batch: batch, ends: ends))
      #expect(response.tokens == (try Self.golden()))
    }
  }

  @Test func aPromptLongerThanTheWindowAndTheRingWraps() async throws {
    let words = (0..<150).map { "word\($0)" }.joined(separator: " ")
    let whole = try await Self.greedy(try await Self.load(), [], prompt: words)
    #expect(whole.promptTokens > 300)
    for batch in [1, 10, 64] {
      let other = try await Self.greedy(try await Self.load(batch: batch), [], prompt: words)
      #expect(other.tokens == whole.tokens)
    }
  }

  @Test func anotherImageGivesOtherTokens() async throws {
    let troika = try await Self.load()
    let first = try await Self.greedy(troika)
    let second = try await Self.greedy(troika, [Self.gray])
    #expect(first.tokens != second.tokens)
  }

  @Test func perLayerInputOfMediaIsAnOption() async throws {
    let troika = try await Self.load()
    var request = try Request(prompt: "Describe this image", media: [.image(Self.wide)])
    request.options = GenerationOptions(
      maxTokens: 8,
      mediaPerLayer: .zero,
      ignoresStopTokens: true
    )
    let zero = try await troika.respond(to: request)
    #expect(zero.tokens != Array(try Self.golden().prefix(8)))
  }

  @Test func aPromptOneTokenOverTheContextIsRefusedWithTheNumbers() async throws {
    let fits = try await Self.load(context: 84)
    let response = try await Self.greedy(fits)
    #expect(response.tokens.count == 2)
    #expect(response.finishReason == .context)
    let tight = try await Self.load(context: 83)
    let error = await #expect(throws: TroikaError.self) { try await Self.greedy(tight) }
    #expect(error?.description.contains("83 tokens") == true)
    #expect(error?.description.contains("context of 83") == true)
    #expect(error?.description.contains("image 65") == true)
  }

  @Test func sessionsDoNotDisturbEachOther() async throws {
    let troika = try await Self.load(batch: 16)
    let golden = try Self.golden()
    try await withThrowingTaskGroup(of: [Int].self) { group in
      for index in 0..<6 {
        group.addTask {
          let image = index % 2 == 0 ? Self.wide : Self.gray
          return try await Self.greedy(troika, [image]).tokens
        }
      }
      var results: [[Int]] = []
      for try await tokens in group { results.append(tokens) }
      #expect(results.count { $0 == golden } == 3)
      #expect(Set(results).count == 2)
    }
  }

  @Test func streamingGivesTheSameText() async throws {
    let troika = try await Self.load()
    let options = GenerationOptions(maxTokens: 24, ignoresStopTokens: true)
    var pieces: [String] = []
    for try await piece in troika.stream(
      "Describe this image",
      images: [Self.wide],
      options: options
    ) {
      pieces.append(piece)
    }
    let text = try await troika.generate(
      "Describe this image",
      images: [Self.wide],
      options: options
    )
    #expect(pieces.count > 5)
    #expect(pieces.joined() == text)
  }

  @Test func cancellationKeepsWhatWasMade() async throws {
    let troika = try await Self.load()
    let request = try Request(
      prompt: "Describe this image",
      media: [.image(Self.wide)],
      options: GenerationOptions(maxTokens: 5000, ignoresStopTokens: true)
    )
    let stopper = Stopper()
    let task = Task {
      try await troika.respond(to: request) { _ in stopper.stop() }
    }
    stopper.set { task.cancel() }
    let response = try await task.value
    #expect(response.finishReason == .cancelled)
    #expect(!response.tokens.isEmpty)
    #expect(response.tokens.count < 5000)
  }

  @Test func samplingFollowsTheSeed() async throws {
    let troika = try await Self.load()
    func tokens(_ seed: UInt64) async throws -> [Int] {
      let options = GenerationOptions(
        maxTokens: 12,
        sampling: SamplingOptions(temperature: 2, topK: 50, seed: seed),
        ignoresStopTokens: true
      )
      return try await troika.respond(to: Request(prompt: "Hello", media: [], options: options))
        .tokens
    }
    #expect(try await tokens(1) == tokens(1))
    #expect(try await tokens(1) != tokens(2))
  }

  @Test func emptyPromptsAndAbsurdOptionsAreRefused() async throws {
    let troika = try await Self.load()
    await #expect(throws: TroikaError.emptyPrompt) { try await troika.generate("  ") }
    await #expect(throws: TroikaError.self) {
      try await troika.generate("x", options: GenerationOptions(maxTokens: 0))
    }
    await #expect(throws: (any Error).self) {
      try await troika.generate(
        "x",
        options: GenerationOptions(sampling: SamplingOptions(temperature: -1))
      )
    }
    await #expect(throws: (any Error).self) { try await Self.load(context: 1) }
  }
}

/// Calls a closure once it is known.
final class Stopper: @unchecked Sendable {
  private let lock = NSLock()
  private var body: (() -> Void)?
  private var isStopped = false

  func set(_ body: @escaping () -> Void) {
    lock.lock()
    defer { lock.unlock() }
    if isStopped { body() } else { self.body = body }
  }

  func stop() {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    body?()
  }
}
