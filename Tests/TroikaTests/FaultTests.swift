import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// Whole requests on units that fail.
@Suite(.serialized) struct FaultTests {
  private static let demo = GoldenFolder.root.appendingPathComponent("Examples/demo")
  private static let answer = "a green circle left of a blue square"

  private static func load(
    _ inject: String? = nil,
    placement: String = "vision=gpu:emulated,audio=gpu:emulated,chunks=neuralEngine",
    allowsFallback: Bool = true
  ) async throws -> Troika {
    try await Troika.load(
      model: demo.appendingPathComponent("model"),
      options: .init(
        placement: try Placement(parsing: placement),
        context: 512,
        threads: 2,
        allowsFallback: allowsFallback,
        faults: try inject.map { try FaultPlan(parsing: $0) } ?? FaultPlan()
      )
    )
  }

  private static func request(_ text: String = "Describe this image") throws -> Request {
    try Request(
      prompt: text,
      media: [.image(demo.appendingPathComponent("picture.png"))],
      options: GenerationOptions(maxTokens: 12)
    )
  }

  private static func sound() throws -> Request {
    try Request(
      prompt: "Describe the sound.",
      media: [.audio(demo.appendingPathComponent("sound.wav"))],
      options: GenerationOptions(maxTokens: 12)
    )
  }

  /// A limit that a busy machine keeps, where one has to be waited for.
  private static func limit(_ kind: String) -> String { kind == "hang" ? ",limit=2s" : "" }

  /// What failed where, without times.
  private static func failures(_ response: Response) -> [String] {
    response.timeline.events.filter { $0.program.hasSuffix("(failed)") }
      .map { "\($0.unit) \($0.program)" }
  }

  static let parts = [
    "gpu:emulated:%@vision", "neuralEngine:%@chunk1.prefill*", "neuralEngine:%@chunk2.decode#3",
    "neuralEngine:%@chunk3.decode#5",
  ]

  @Test(arguments: parts, ["fail", "nan", "gone", "hang", "slow=5x", "compile"])
  func anyPartInAnyWayGivesTheAnswer(_ part: String, _ kind: String) async throws {
    var text = part.replacingOccurrences(of: "%", with: kind)
    if kind == "compile" { text = String(text.prefix { $0 != "#" }) }
    let troika = try await Self.load(text + Self.limit(kind))
    let response = try await troika.respond(to: Self.request())
    #expect(response.text == Self.answer)
    #expect(response.warnings.count == (kind.hasPrefix("slow") ? 0 : 1), "\(response.warnings)")
    #expect(Self.failures(response).count == response.warnings.count)
    let again = try await troika.respond(to: Self.request())
    #expect(again.text == Self.answer)
    #expect(again.warnings.isEmpty && Self.failures(again).isEmpty)
  }

  @Test(arguments: ["fail", "nan", "gone", "hang", "slow=5x", "compile"])
  func soundIsHeardAllTheSame(_ kind: String) async throws {
    let expected = try await Self.load().respond(to: Self.sound())
    let troika = try await Self.load("gpu:emulated:\(kind)@audio" + Self.limit(kind))
    let response = try await troika.respond(to: Self.sound())
    #expect(response.text == expected.text)
    #expect(response.warnings.count == (kind.hasPrefix("slow") ? 0 : 1))
  }

  /// A tower that moves gives the features that the next unit gives, bit for bit.
  @Test(arguments: ["fail", "nan", "gone", "compile"])
  func aTowerThatMovesGivesTheNextUnitsFeatures(_ kind: String) throws {
    let folder = try ModelFolder(path: GoldenFolder.model)
    func features(_ placement: Placement, _ faults: FaultPlan) throws -> [Float] {
      let store = ProgramStore(
        model: folder.model,
        weights: folder.weights,
        registry: Registry(threads: 2, faults: faults),
        placement: placement,
        failures: UnitFailures(allowsFallback: true)
      )
      let loader = MediaLoader(processor: folder.processor)
      let loaded = try loader.load(.image(GenerationTests.wide))
      guard case .image(let image) = loaded.part else { return [] }
      return try Encoders(store: store, model: folder.model).encode(image).features.floats
    }
    let expected = try features(Placement(), FaultPlan())
    let plan = try FaultPlan(parsing: "gpu:emulated:\(kind)@vision")
    let got = try features(try Placement(parsing: "vision=gpu:emulated"), plan)
    #expect(!got.isEmpty && got == expected)
  }

  @Test func whatTwoUnitsFailGoesFromTheFirstToTheSecondToTheProcessor() async throws {
    let troika = try await Self.load("gpu:emulated:fail@vision,neuralEngine:nan@vision")
    let response = try await troika.respond(to: Self.request())
    #expect(response.text == Self.answer)
    #expect(
      Self.failures(response) == ["gpu:emulated vision (failed)", "neuralEngine vision (failed)"]
    )
    #expect(response.warnings.count == 2)
    #expect(response.warnings.first?.hasSuffix("runs on the neuralEngine from here on") == true)
    #expect(response.warnings.last?.hasSuffix("runs on the cpu from here on") == true)
    let again = try await troika.respond(to: Self.request())
    #expect(again.text == Self.answer && again.warnings.isEmpty)
    let visions = again.timeline.events.filter { $0.program.hasPrefix("vision") }
    #expect(!visions.isEmpty && visions.allSatisfy { $0.unit == .cpu })
  }

  @Test(arguments: ["fail", "gone", "hang", "compile"])
  func aPartMovesToTheNextUnitOfThePlacement(_ kind: String) async throws {
    let troika = try await Self.load("gpu:emulated:\(kind)@vision" + Self.limit(kind))
    let response = try await troika.respond(to: Self.request())
    #expect(response.text == Self.answer && response.warnings.count == 1)
    let visions = response.timeline.events.filter { $0.program.hasPrefix("vision/") }
    #expect(visions.contains { $0.unit == .neuralEngine && $0.kind == .launch })
  }

  @Test func theNextUnitIsOneThatAcceptsThePart() throws {
    let folder = try ModelFolder(path: Self.demo.appendingPathComponent("model").path)
    func next(_ placement: String, _ key: ProgramStore.Key, after failed: UnitID...) throws
      -> UnitID
    {
      let store = ProgramStore(
        model: folder.model,
        weights: folder.weights,
        registry: Registry(threads: 1),
        placement: try Placement(parsing: placement)
      )
      return try store.next(key, avoiding: Set(failed))
    }
    let vision = ProgramStore.Key.vision(patches: 36, taps: [])
    let both = "vision=gpu:emulated,chunks=neuralEngine"
    #expect(try next(both, vision, after: .emulatedGPU) == .neuralEngine)
    #expect(try next(both, vision, after: .emulatedGPU, .neuralEngine) == .cpu)
    #expect(try next("vision=gpu:emulated", vision, after: .emulatedGPU) == .cpu)
    // Units for tests take over nothing, and the engine runs nothing of the gathers.
    let tests = "vision=gpu:emulated,audio=reference,embed=null"
    #expect(try next(tests, vision, after: .emulatedGPU) == .cpu)
    let embed = "embed=gpu:emulated,chunks=neuralEngine"
    #expect(try next(embed, .embed(tokens: 1), after: .emulatedGPU) == .cpu)
    // A unit that has refused a part is not asked again.
    let store = ProgramStore(
      model: folder.model,
      weights: folder.weights,
      registry: Registry(threads: 1),
      placement: try Placement(parsing: both).refusing(.vision, by: .neuralEngine)
    )
    #expect(try store.next(vision, avoiding: [.emulatedGPU]) == .cpu)
  }

  @Test func theSameSeedGivesTheSameFaults() async throws {
    func run(_ seed: Int) async throws -> ([String], [String], String) {
      let troika = try await Self.load("random,seed=\(seed),rate=0.15")
      let response = try await troika.respond(to: Self.request())
      return (Self.failures(response), response.warnings, response.text)
    }
    let (first, second, other) = (try await run(5), try await run(5), try await run(6))
    #expect(first == second)
    #expect(!first.0.isEmpty)
    #expect(first.0 != other.0)
    #expect(first.2 == Self.answer && other.2 == Self.answer)
  }

  @Test func aLostUnitIsWaitedForOnce() async throws {
    let troika = try await Self.load("neuralEngine:hang@chunk1.decode#2,limit=2s")
    let response = try await troika.respond(to: Self.request())
    #expect(Self.failures(response) == ["neuralEngine chunk1.decode (failed)"])
    #expect(response.warnings.first?.contains("all that is placed there") == true)
    let later = try await troika.respond(to: Self.request("What is this?"))
    #expect(!later.timeline.events.contains { $0.unit == .neuralEngine })
  }

  @Test func aChatGoesOnAfterAFault() async throws {
    let options = GenerationOptions(maxTokens: 6, ignoresStopTokens: true)
    let inject = "neuralEngine:fail@chunk2.decode#3"
    let strict = try await Self.load(inject, allowsFallback: false)
    let chat = strict.chat(options: options)
    let error = await #expect(throws: DeviceError.self) { try await chat.send("Hello") }
    #expect(error?.unit == .neuralEngine)
    let next = try await chat.send("Hello")
    #expect(next.tokens.count == 6)
    let clean = try await Self.load().chat(options: options).send("Hello")
    #expect(next.tokens == clean.tokens)
    let lenient = try await Self.load(inject).chat(options: options)
    #expect(try await lenient.send("Hello").warnings.count == 1)
    let second = try await lenient.send("And again")
    #expect(second.tokens.count == 6 && second.warnings.isEmpty && second.cachedTokens > 0)
  }

  @Test func withoutFallbackALostUnitFailsAtOnceFromThenOn() async throws {
    let inject = "neuralEngine:hang@chunk2.decode#2,limit=2s"
    let troika = try await Self.load(inject, allowsFallback: false)
    for index in 0..<3 {
      let error = await #expect(throws: DeviceError.self) {
        try await troika.respond(to: Self.request())
      }
      #expect(error?.losesUnit == true)
      if index > 0, case .timedOut = error { Issue.record("waited again") }
    }
  }

  @Test(arguments: ["hang", "gone", "fail"])
  func twoSessionsAtOnceBothAnswer(_ kind: String) async throws {
    let troika = try await Self.load("neuralEngine:\(kind)@launch=20" + Self.limit(kind))
    async let left = troika.respond(to: Self.request())
    async let right = troika.respond(to: Self.request())
    let both = try await [left, right]
    #expect(both.allSatisfy { $0.text == Self.answer })
    #expect(both.contains { !$0.warnings.isEmpty })
    let after = try await troika.respond(to: Self.request())
    #expect(after.text == Self.answer && after.warnings.isEmpty)
  }

  @Test func memoryDoesNotGrowAfterAFault() async throws {
    let troika = try await Self.load("neuralEngine:random@*,rate=0.05,seed=3,gpu:emulated:gone")
    for _ in 0..<5 { _ = try await troika.respond(to: Self.request()) }
    let before = HostMachine.residentByteCount
    for _ in 0..<20 {
      #expect(try await troika.respond(to: Self.request()).text == Self.answer)
    }
    // Other suites run in this process too: growth by a request would be far larger.
    #expect(HostMachine.residentByteCount - before < 20 * (32 << 20))
  }

  @Test func withoutFaultsNothingStandsBetween() throws {
    #expect(try Registry(threads: 1).unit(.neuralEngine) is EmulatedUnit)
    let plan = try FaultPlan(parsing: "neuralEngine:fail")
    let registry = Registry(threads: 1, faults: plan)
    #expect(try registry.unit(.neuralEngine) is FaultyUnit)
    #expect(try registry.unit(.cpu) is CPUUnit)
    #expect(try registry.health(of: .neuralEngine) != nil)
  }
}
