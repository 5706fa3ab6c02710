import Foundation
import Graph
import Models
import TestSupport

@testable import Devices
@testable import Troika

/// A prompt's tasks over the tiny golden model, carried out in one way or the other.
struct PromptFixture {
  let folder: ModelFolder
  let store: ProgramStore
  let session: DecoderSession
  let encoders: Encoders

  init(
    _ placement: String,
    prefill: [Int] = [16, 64],
    registry: Registry = Registry(threads: 1),
    allowsFallback: Bool = true,
    seesWholeMedia: Bool = false
  ) throws {
    let placement = try Placement(parsing: placement)
    let folder = try ModelFolder(path: GoldenFolder.model)
    var configuration = folder.model.configuration
    configuration.text.seesWholeMedia = seesWholeMedia
    let model = try Gemma4(configuration, over: folder.weights)
    let layout =
      ChunkLayout(ends: [3, 6, 8, 10], layerCount: 10)
      ?? ChunkLayout(standardFor: folder.model.configuration.text)
    let shapes = try CompiledShapes(
      placement,
      layout: layout,
      registry: registry,
      prefill: prefill,
      batch: prefill.max() ?? 64
    )
    self.folder = folder
    store = ProgramStore(
      model: model,
      weights: folder.weights,
      registry: registry,
      placement: placement,
      failures: UnitFailures(allowsFallback: allowsFallback)
    )
    session = try DecoderSession(
      store: store,
      text: model.text,
      layout: layout,
      placement: placement,
      context: 1024,
      batch: prefill.max() ?? 64,
      fixedShapes: shapes.tokens
    )
    encoders = Encoders(
      store: store,
      model: model,
      visionShapes: shapes.vision,
      audioShapes: shapes.audio
    )
  }

  /// The tasks of a user turn.
  func tasks(_ parts: [PromptPart]) throws -> PromptRun {
    let request = Request(parts, options: GenerationOptions())
    let loader = MediaLoader(processor: folder.processor)
    let media = try request.media.mapValues { try loader.load($0) }
    let prompt = try folder.encoder.encode(
      try folder.template.pieces(request.messages),
      extents: media.mapValues(\.extent)
    )
    let rows = PromptRows(
      prompt,
      padToken: folder.model.configuration.text.padToken,
      mediaPerLayer: .pad
    )
    return PromptRun(rows, from: 0, media, encoders, folder.processor, in: session)
  }

  /// Carries out the tasks.
  ///
  /// - Returns: the last position's logits, and what ran when.
  func run(_ parts: [PromptPart], serially: Bool) throws -> (logits: [Float], timeline: Timeline) {
    let run = try tasks(parts)
    let outcome = try Executor(run.graph, run.work) { _ in true }.run(serially: serially)
    var log = EventLog()
    log.append(run.graph, outcome.reports, after: [])
    return (run.steps.last?.step.result.logits?.floats ?? [], log.timeline)
  }

  static let words = (0..<40).map { "word\($0)" }.joined(separator: " ")
  static let clip = GoldenFolder.root
    .appendingPathComponent("Tests/MediaTests/Fixtures/video/count-30fps-2s.mp4")

  /// Mixes of text and media.
  static let prompts: [[PromptPart]] = [
    [.text(words)],
    [.image(GenerationTests.wide), .text("What?")],
    [
      .text(words), .image(GenerationTests.wide), .text(words), .image(GenerationTests.gray),
      .text("Which?"),
    ],
    [.text(words), .audio(GenerationTests.tone), .image(GenerationTests.gray), .text("And?")],
    [.text("See"), .video(clip, VideoOptions(fps: 2)), .text(words)],
    [
      .video(clip, VideoOptions(fps: 1)), .audio(GenerationTests.tone), .text(words),
      .image(GenerationTests.wide), .audio(GenerationTests.tone), .text("All of it?"),
    ],
  ]
}

/// A unit whose launches each pass a gate first.
final class GatedUnit: ComputeUnit {
  private let inner: any ComputeUnit
  private let queue: UnitQueue
  private let pass: @Sendable (String) throws -> Void

  init(_ inner: any ComputeUnit, pass: @escaping @Sendable (String) throws -> Void) {
    self.inner = inner
    self.pass = pass
    queue = UnitQueue(unit: inner.profile.unit)
  }

  var profile: UnitProfile { inner.profile }

  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable {
    Gated(
      inner: try inner.compile(segment, over: source),
      name: segment.graph.name,
      queue: queue,
      pass: pass
    )
  }

  func footprint(of segment: Segment) throws -> Footprint { try inner.footprint(of: segment) }

  func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    inner.copy(source, to: target, after: after)
  }

  private struct Gated: Executable {
    let inner: any Executable
    let name: String
    let queue: UnitQueue
    let pass: @Sendable (String) throws -> Void

    var footprint: Footprint { inner.footprint }

    func launch(_ bindings: [String: Value], after: [Moment]) throws -> Moment {
      queue.submit(name, after: after) {
        try pass(name)
        try inner.launch(bindings, after: []).wait()
      }
    }
  }
}

/// Counts that threads wait for.
final class Turnstile: @unchecked Sendable {
  private let condition = NSCondition()
  private var counts: [String: Int] = [:]

  /// Counts one more.
  func note(_ name: String) {
    condition.lock()
    counts[name, default: 0] += 1
    condition.broadcast()
    condition.unlock()
  }

  /// Waits until so many have been counted, half a minute at most.
  ///
  /// - Throws: where they do not come.
  func wait(for name: String, count: Int) throws {
    let end = Date(timeIntervalSinceNow: 30)
    condition.lock()
    defer { condition.unlock() }
    while counts[name] ?? 0 < count {
      guard condition.wait(until: end) else {
        throw DeviceError.launch(unit: "test", program: name, reason: "nothing came")
      }
    }
  }
}
