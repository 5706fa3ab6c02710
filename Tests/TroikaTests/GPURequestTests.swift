import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing
import Troika

/// The GPU unit under many requests: the same tokens, and no more memory than the first ones took.
@Suite(
  .serialized,
  .enabled(if: (try? Registry(threads: 1).unit(.gpu)) != nil, "did not run: no Vulkan device")
)
struct GPURequestTests {
  private static let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")

  private static func load(_ placement: String) async throws -> Troika {
    try await Troika.load(
      model: demo.appendingPathComponent("model"),
      options: .init(placement: try Placement(parsing: placement), context: 512, threads: 2)
    )
  }

  private static func request(images: Int = 1) throws -> Request {
    let picture = MediaSource.image(demo.appendingPathComponent("picture.png"))
    return try Request(
      prompt: "Describe this image",
      media: [MediaSource](repeating: picture, count: images),
      options: GenerationOptions(maxTokens: 12)
    )
  }

  @Test func twoPicturesInOnePromptAreReadAsOnTheProcessor() async throws {
    let expected = try await Self.load("cpu").respond(to: Self.request(images: 2))
    let got = try await Self.load("mission").respond(to: Self.request(images: 2))
    #expect(got.softTokens == 2 * 64)
    #expect(got.tokens == expected.tokens)
  }

  @Test func twentyRequestsGiveTheSameTokensInTheSameMemory() async throws {
    let troika = try await Self.load("vision=gpu,chunk2=gpu")
    let first = try await troika.respond(to: Self.request())
    for _ in 0..<4 { _ = try await troika.respond(to: Self.request()) }
    let before = HostMachine.residentByteCount
    for _ in 0..<15 {
      let next = try await troika.respond(to: Self.request())
      #expect(next.tokens == first.tokens)
    }
    // Other suites run in this process too: growth by a request would be far larger.
    #expect(HostMachine.residentByteCount - before < 15 * (32 << 20))
  }

  @Test func twoSessionsAtOnceGiveTheSameTokens() async throws {
    let troika = try await Self.load("mission")
    let alone = try await troika.respond(to: Self.request())
    async let left = troika.respond(to: Self.request())
    async let right = troika.respond(to: Self.request())
    let both = try await [left, right]
    #expect(both.allSatisfy { $0.tokens == alone.tokens })
  }
}
