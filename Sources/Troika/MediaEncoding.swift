import Devices
import Graph
import Media
import Models

/// Encodes the media of a prompt, each as it is decoded.
final class MediaEncoding {
  let encoders: Encoders
  let processor: ProcessorSettings
  let callbacks: GenerationCallbacks
  /// Launches that are over.
  private(set) var events: [Timeline.Event] = []
  /// What the user should know about units that failed.
  private(set) var warnings: [String] = []
  private(set) var isCancelled = false
  private var done = 0
  private var total = 0

  init(encoders: Encoders, processor: ProcessorSettings, callbacks: GenerationCallbacks) {
    self.encoders = encoders
    self.processor = processor
    self.callbacks = callbacks
  }

  /// Features of every span of a prompt; empty for media that lie wholly before `start`.
  ///
  /// - Returns: nil where the caller cancelled.
  func run(
    _ prompt: EncodedPrompt,
    _ media: [Medium: LoadedMedium],
    from start: Int
  ) throws -> [Value]? {
    var order: [Medium] = []
    for span in prompt.spans where span.range.upperBound > start && !order.contains(span.medium) {
      order.append(span.medium)
    }
    total = prompt.spans.count { order.contains($0.medium) }
    var features: [Medium: [Value]] = [:]
    for medium in order {
      guard let loaded = media[medium] else { continue }
      features[medium] = try encode(loaded)
      if isCancelled { return nil }
    }
    let empty = try Value(
      TensorType(.f32, [0, encoders.model.configuration.text.hiddenSize])
    )
    return prompt.spans.map { features[$0.medium]?[$0.frame] ?? empty }
  }

  private func encode(_ loaded: LoadedMedium) throws -> [Value] {
    switch loaded.part {
    case .image(let image): return try collect([image]) { try encoders.launch($0) }
    case .audio(let blocks): return try collect(blocks) { try encoders.launch($0) }
    case .frames(let reader, let choices): return try encode(reader, choices)
    }
  }

  private func collect<Part>(
    _ parts: [Part],
    _ launch: (Part) throws -> PendingEncoding
  ) throws -> [Value] {
    var values: [Value] = []
    for part in parts where !stopped() {
      let pending = try launch(part)
      try finish(pending)
      values.append(pending.features)
    }
    return values
  }

  /// Frame k is encoded while frame k + 1 is decoded and prepared.
  private func encode(
    _ reader: VideoReader,
    _ choices: [FrameChoice]
  ) throws -> [Value] {
    let preprocessor = ImagePreprocessor(geometry: processor.video)
    var values: [Value] = []
    var running: (encoding: PendingEncoding, patches: Patches)?
    func collect() throws {
      guard let last = running else { return }
      try finish(last.encoding)
      values.append(try frameFeatures(last.encoding.features, last.patches))
      running = nil
    }
    do {
      try reader.forEachFrame(choices) { frame in
        if stopped() { throw CancellationError() }
        let patches = try preprocessor.patches(frame.image)
        try collect()
        let image = PreparedImage(patches: patches, scale: .video)
        running = (try encoders.launch(image), patches)
      }
    } catch is CancellationError {
      isCancelled = true
    }
    try collect()
    return values
  }

  /// What the decoder is given of a frame.
  private func frameFeatures(_ features: Value, _ patches: Patches) throws -> Value {
    guard processor.poolsFrames else { return features }
    let kernel = processor.video.poolingKernel
    return try FramePooling.pool(
      features,
      rows: patches.rows / kernel,
      columns: patches.columns / kernel
    )
  }

  private func finish(_ pending: PendingEncoding) throws {
    let result = try pending.wait()
    events += result.events
    warnings += result.warnings
    done += 1
  }

  private func stopped() -> Bool {
    callbacks.progress(RequestProgress(stage: "encode", done: done, total: total))
    isCancelled = isCancelled || callbacks.isCancelled()
    return isCancelled
  }
}
