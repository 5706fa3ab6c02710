import Foundation
import Media
import Models
import Troika

/// What the model is given of one file.
struct MediaInspection {
  let processor: ProcessorSettings?
  let options: VideoOptions

  func fields(
    _ path: String,
    kind: String
  ) throws -> (fields: [(String, JSONValue)], warnings: [String]) {
    switch kind {
    case "image": try image(path)
    case "video": try video(path)
    default: try audio(path)
    }
  }

  private func image(_ path: String) throws -> ([(String, JSONValue)], [String]) {
    let decoded = try ImageFile.decode(path: path)
    let geometry = processor?.image ?? .e2bImage
    let preprocessor = ImagePreprocessor(geometry: geometry)
    let resized: RGBImage
    do {
      resized = try preprocessor.resized(decoded.image)
    } catch {
      throw MediaError.unsupported(path: path, format: "image", reason: "\(error)")
    }
    let tokens = geometry.softTokenCount(
      targetWidth: resized.width,
      targetHeight: resized.height
    )
    return (
      [
        ("kind", "image"), ("width", .integer(decoded.image.width)),
        ("height", .integer(decoded.image.height)),
        ("orientation", .integer(decoded.orientation)),
        ("format", .string(decoded.format.rawValue)),
        ("resizedWidth", .integer(resized.width)), ("resizedHeight", .integer(resized.height)),
        ("softTokens", .integer(tokens)), ("rgbSHA256", .string(SHA256.hex(resized.pixels))),
      ], decoded.warnings
    )
  }

  private func video(_ path: String) throws -> ([(String, JSONValue)], [String]) {
    let reader = try VideoReader(path: path)
    let timeline = reader.timeline
    let choices =
      options.sampling == .even
      ? timeline.even(fps: options.fps, maxFrames: options.maxFrames)
      : timeline.reference(numFrames: processor?.referenceFrames ?? 32)
    let tokens: Int
    do {
      tokens =
        try processor?.frameTokens(width: reader.width, height: reader.height)
        ?? Self.e2bFrameTokens(reader)
    } catch {
      throw MediaError.unsupported(path: path, format: "video", reason: "\(error)")
    }
    try reader.forEachFrame(choices) { _ in }
    let swaps = reader.rotation == 90 || reader.rotation == 270
    let frames = choices.map { choice in
      JSONValue.object(fields: [
        ("seconds", .number(choice.seconds)), ("label", .string(choice.label)),
      ])
    }
    return (
      [
        ("kind", "video"), ("durationSeconds", .number(reader.durationSeconds)),
        ("width", .integer(reader.width)), ("height", .integer(reader.height)),
        ("storedWidth", .integer(swaps ? reader.height : reader.width)),
        ("storedHeight", .integer(swaps ? reader.width : reader.height)),
        ("rotation", .integer(reader.rotation)), ("frames", .array(frames)),
        ("tokensPerFrame", .integer(tokens)), ("hasAudio", .bool(reader.hasAudio)),
      ], reader.warnings
    )
  }

  private static func e2bFrameTokens(_ reader: VideoReader) throws(GeometryError) -> Int {
    let geometry = ImageGeometry.e2bVideo
    let target = try geometry.target(width: reader.width, height: reader.height)
    return geometry.softTokenCount(targetWidth: target.width, targetHeight: target.height)
  }

  private func audio(_ path: String) throws -> ([(String, JSONValue)], [String]) {
    let decoded = try AudioFile.decode(path: path)
    let mel = try LogMel(parameters: processor?.mel ?? LogMelParameters())
    let blocks = AudioBlocks(sampleCount: decoded.samples.count).ranges.map {
      mel.counts(sampleCount: $0.count)
    }
    var warnings = decoded.warnings
    if blocks.count > 1 { warnings.append("goes in as \(blocks.count) blocks of at most 30 s") }
    return (
      [
        ("kind", "audio"), ("durationSeconds", .number(decoded.durationSeconds)),
        ("sampleRate", .integer(decoded.sampleRate)), ("channels", .integer(decoded.channels)),
        ("melFrames", .integer(blocks.reduce(0) { $0 + $1.frames })),
        ("softTokens", .integer(blocks.reduce(0) { $0 + $1.softTokens })),
        ("blocks", .integer(blocks.count)),
      ], warnings
    )
  }
}

/// What a checkpoint folder holds.
struct ModelInspection {
  let fields: [(String, JSONValue)]

  init(path: String) throws {
    let folder = try ModelFolder(path: path)
    try folder.bundle?.checkDigests()
    let configuration = folder.model.configuration
    let text = configuration.text
    let shared = text.layers.count - text.firstSharedLayer
    let storage = try folder.bundle.map(Self.fields) ?? Self.fields(Checkpoint(folder: path))
    fields =
      storage + [
        ("layers", .integer(text.layers.count)),
        ("sharedLayers", .integer(shared)), ("hiddenSize", .integer(text.hiddenSize)),
        ("perLayerSize", .integer(text.perLayerSize)),
        ("vocabularySize", .integer(text.vocabularySize)),
        ("slidingWindow", .integer(text.slidingWindow)),
        ("maximumPositions", .integer(text.maximumPositions)),
        ("chunks", .array(folder.layout.ranges.map { .integer($0.upperBound) })),
        ("vision", .bool(configuration.vision != nil)),
        ("audio", .bool(configuration.audio != nil)),
        ("mediaStyle", .string(folder.template.mediaStyle.rawValue)),
        ("stopTokens", .array(folder.generation.stopIDs.map { .integer($0) })),
        ("warnings", .array(folder.warnings.map { .string($0) })),
      ]
  }
  private static func fields(_ checkpoint: Checkpoint) -> [(String, JSONValue)] {
    [
      ("kind", "checkpoint"), ("files", .array(checkpoint.fileNames.map { .string($0) })),
      ("fileBytes", .array(checkpoint.fileByteCounts.map { .integer($0) })),
      ("tensors", .integer(checkpoint.tensorNames.count)),
      ("bytes", .integer(checkpoint.totalBytes)),
    ]
  }

  private static func fields(_ bundle: ModelBundle) -> [(String, JSONValue)] {
    let manifest = bundle.manifest
    return [
      ("kind", "bundle"), ("version", .integer(BundleManifest.version)),
      ("weights", .string(manifest.weights.rawValue)),
      ("files", .array(manifest.files.map { .string($0.path) })),
      ("fileBytes", .array(manifest.files.map { .integer($0.byteCount) })),
      ("tensors", .integer(bundle.tensorNames.count)), ("bytes", .integer(manifest.byteCount)),
      ("digests", "all hold"), ("prefill", .array(manifest.prefill.map { .integer($0) })),
      ("context", .integer(manifest.context)),
      ("programs", .array(manifest.programs.map { .string($0.name) })),
    ]
  }
}
