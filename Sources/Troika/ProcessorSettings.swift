import Foundation
public import Media
public import Models

/// What `processor_config.json` says about images, videos and sound.
public struct ProcessorSettings: Sendable {
  /// Still images.
  public let image: ImageGeometry
  /// Video frames; the still images' where the folder has only these.
  public let video: ImageGeometry
  /// Whether frames go through the still-image encoder and are pooled 2 × 2 behind it.
  public let poolsFrames: Bool
  /// Frames that the reference processor takes from a clip.
  public let referenceFrames: Int
  /// The sound front end.
  public let mel: LogMelParameters

  /// Settings of a model folder; without `processor_config.json` those of the configuration.
  ///
  /// - Throws: where the file cannot be used or asks for something that is not supported.
  public init(folder: String, configuration: Gemma4Configuration) throws {
    let path = folder + "/processor_config.json"
    let exists = FileManager.default.fileExists(atPath: path)
    let root = exists ? try JSONNode(file: path) : nil
    let vision = configuration.vision
    func geometry(_ key: String, tokens: Int) throws -> ImageGeometry {
      let node = try root?.optional(key)
      return try ImageGeometry(
        patchSize: try node?.integer("patch_size", or: vision?.patchSize ?? 16)
          ?? vision?.patchSize ?? 16,
        poolingKernel: try node?.integer("pooling_kernel_size", or: vision?.poolingKernel ?? 3)
          ?? vision?.poolingKernel ?? 3,
        maxSoftTokens: try node?.integer("max_soft_tokens", or: tokens) ?? tokens
      )
    }
    image = try geometry("image_processor", tokens: vision?.softTokens ?? 280)
    poolsFrames = try root != nil && root?.optional("video_processor") == nil
    video = poolsFrames ? image : try geometry("video_processor", tokens: 70)
    referenceFrames = try root?.optional("video_processor")?.integer("num_frames", or: 32) ?? 32
    mel = try Self.mel(root?.optional("feature_extractor"))
    try Self.check(image, video, vision, root)
    if let bins = configuration.audio?.melBins, mel.featureSize != bins {
      throw try root?.member("feature_extractor").mismatch(
        "feature_size \(bins), as the audio tower takes",
        came: "\(mel.featureSize)"
      ) ?? ModelFolderError(path: folder, reason: "expected \(bins) mel bins")
    }
  }

  private static func check(
    _ image: ImageGeometry,
    _ video: ImageGeometry,
    _ vision: VisionConfiguration?,
    _ root: JSONNode?
  ) throws {
    guard let vision, let root else { return }
    for (key, geometry) in [("image_processor", image), ("video_processor", video)]
    where try root.optional(key) != nil && geometry.patchSize != vision.patchSize
      || geometry.poolingKernel != vision.poolingKernel
    {
      throw try root.member(key).mismatch(
        "patches of \(vision.patchSize) pooled \(vision.poolingKernel) x \(vision.poolingKernel)",
        came: "patches of \(geometry.patchSize) pooled \(geometry.poolingKernel) x "
          + "\(geometry.poolingKernel)"
      )
    }
  }

  private static func mel(_ node: JSONNode?) throws -> LogMelParameters {
    var mel = LogMelParameters()
    guard let node else { return mel }
    for key in ["preemphasis", "dither"] where try node.double(key, or: 0) != 0 {
      throw try node.member(key).mismatch("0, the only value supported")
    }
    for key in ["per_bin_mean", "per_bin_stddev"] {
      if let given = try node.optional(key) {
        throw given.mismatch("null, the only value supported")
      }
    }
    mel.samplingRate = try node.integer("sampling_rate", or: mel.samplingRate)
    mel.frameLength = try node.integer("frame_length", or: mel.frameLength)
    mel.hopLength = try node.integer("hop_length", or: mel.hopLength)
    mel.fftLength = try node.integer("fft_length", or: mel.fftLength)
    mel.featureSize = try node.integer("feature_size", or: mel.featureSize)
    mel.minFrequency = try node.double("min_frequency", or: mel.minFrequency)
    mel.maxFrequency = try node.double("max_frequency", or: mel.maxFrequency)
    mel.melFloor = try node.double("mel_floor", or: mel.melFloor)
    mel.inputScaleFactor = try node.double("input_scale_factor", or: mel.inputScaleFactor)
    return mel
  }
}

extension ProcessorSettings {
  /// Soft tokens of a frame of a clip of this size.
  ///
  /// - Throws: `GeometryError` where no size fits.
  public func frameTokens(width: Int, height: Int) throws(GeometryError) -> Int {
    let target = try video.target(width: width, height: height)
    guard poolsFrames else {
      return video.softTokenCount(targetWidth: target.width, targetHeight: target.height)
    }
    return FramePooling.tokenCount(
      rows: target.height / video.cellSide,
      columns: target.width / video.cellSide
    )
  }
}
