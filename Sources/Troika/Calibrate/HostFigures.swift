import Devices
import Foundation
import Graph
import Media
import Models

/// Measures the host's work around programs.
struct HostFigures {
  let folder: ModelFolder
  let registry: Registry

  /// Adds what is measured to a profile.
  ///
  /// - Throws: where a file cannot be written, or a program fails.
  func add(to profile: inout DeviceProfile) throws {
    let work = FileManager.default.temporaryDirectory
      .appendingPathComponent("troika-calibrate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    if folder.model.vision != nil {
      let path = work.appendingPathComponent("picture.bmp")
      try Data(MadeUpMedia.bmp(1024, 768)).write(to: path)
      profile.host[.imageNanoseconds] = try loading(.image(path), "a picture of 1024 x 768")
      profile.host[.frameNanoseconds] = profile.host[.imageNanoseconds]
    }
    if folder.model.audio != nil {
      let path = work.appendingPathComponent("sound.wav")
      try Data(MadeUpMedia.wav(seconds: 10)).write(to: path)
      let figure = try loading(.audio(path), "10 s of sound, for each second")
      profile.host[.soundSecondNanoseconds] = figure.scaled(0.1)
    }
    try addSteps(to: &profile)
    let limit = try LimitProbe([.cpu], .init(), in: registry, ProgramTimer()).measured([]).first
    if let limit {
      profile.host[.memoryBytesPerSecond] = Figure(
        limit.bytesPerSecond,
        low: limit.bytesPerSecond * 0.95,
        high: limit.bytesPerSecond * 1.05,
        .measured,
        source: "f16 weights read by products of one row"
      )
    }
  }

  private func loading(_ source: MediaSource, _ what: String) throws -> Figure {
    let loader = MediaLoader(processor: folder.processor)
    let samples = try (0..<5).map { _ -> Double in
      let start = MonotonicClock.nanoseconds
      _ = try loader.load(source)
      return Double(MonotonicClock.nanoseconds - start)
    }
    return Figure(samples: Array(samples.dropFirst()), source: "decoded and prepared: \(what)")
  }

  /// What a step takes beside its programs: the choice of the token, waits, launches.
  private func addSteps(to profile: inout DeviceProfile) throws {
    let troika = try Troika(
      folder,
      Troika.LoadOptions(placement: Placement(base: .cpu)),
      registry: registry
    )
    var steps: [Double] = []
    var batches: [Double] = []
    for _ in 0..<4 {
      let request = try Request(
        prompt: [String](repeating: "word", count: 24).joined(separator: " "),
        media: [],
        options: GenerationOptions(maxTokens: 9, ignoresStopTokens: true)
      )
      let response = try troika.answer(request)
      let launches = response.timeline.events.filter { $0.kind == .launch }
      let first = response.timings.firstTokenNanoseconds
      let decode = launches.filter { $0.program.hasSuffix(".decode") }
      let embeds = launches.filter { $0.program == "embed" }
      let stepCount = max(response.tokens.count - 1, 1)
      let stepEmbeds = embeds.suffix(stepCount).reduce(0) { $0 + $1.nanoseconds }
      let busy = decode.reduce(0) { $0 + $1.nanoseconds } + stepEmbeds
      steps.append(Double(response.timings.decodeNanoseconds - busy) / Double(stepCount))
      let all = launches.reduce(0) { $0 + $1.nanoseconds }
      batches.append(Double(first - (all - busy)))
    }
    profile.host[.stepNanoseconds] = Figure(
      samples: Array(steps.dropFirst()),
      source: "a step's time without its programs"
    )
    profile.host[.batchNanoseconds] = Figure(
      samples: Array(batches.dropFirst()),
      source: "a prompt's time without its programs"
    )
  }
}

extension Figure {
  /// The median of samples, their range as it is.
  init(samples: [Double], source: String) {
    let positive = samples.map { max($0, 0) }
    let summary = SampleSummary(positive)
    self.init(
      summary.median,
      low: positive.min(),
      high: positive.max(),
      .measured,
      source: source
    )
  }

  /// So many times this.
  func scaled(_ factor: Double) -> Figure {
    Figure(value * factor, low: low * factor, high: high * factor, provenance, source: source)
  }
}
