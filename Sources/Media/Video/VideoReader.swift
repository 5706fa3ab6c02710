/// One decoded frame of a clip.
public struct VideoFrame: Equatable, Sendable {
  /// Which frame was asked for.
  public let choice: FrameChoice
  /// Upright 8-bit sRGB.
  public let image: RGBImage
}

/// A clip: a video file, an animation, a still picture or a folder of numbered pictures.
///
/// Opening reads the times of all frames without decoding them; frames are then decoded one at
/// a time in one pass, so memory does not grow with the clip.
public struct VideoReader: Sendable {
  /// The file or folder.
  public let path: String
  /// Columns of an upright frame, in stored pixels.
  public let width: Int
  /// Rows of an upright frame, in stored pixels.
  public let height: Int
  /// Degrees by which frames are turned clockwise to be upright: 0, 90, 180 or 270.
  public let rotation: Int
  /// True when there is a sound track.
  public let hasAudio: Bool
  /// When each frame is shown.
  public let timeline: FrameTimeline
  /// What a user should know, one line each.
  public let warnings: [String]

  private let origin: FrameOrigin

  /// The clip's length in seconds.
  public var durationSeconds: Double { timeline.durationSeconds }
  /// Frames per second on average; nil when unknown.
  public var framesPerSecond: Double? { timeline.framesPerSecond }
  /// Frames in the clip.
  public var frameCount: Int { timeline.times.count }

  /// Opens the clip at `path`, whose kind is told by content.
  ///
  /// The limits hold for every frame.
  ///
  /// - Throws: `MediaError` when there is no picture track, or the file is missing or broken.
  public init(path: String, limits: ImageLimits = .default) throws(MediaError) {
    let head = try FileBytes.head(path: path, count: 4096)
    switch ImageFormat(signatureOf: head) {
    case .gif, .webp:
      self.init(path: path, try AnimationClip.open(path: path, limits: limits))
    case .some:
      self.init(path: path, try PictureClip.open(paths: [path], fps: nil, limits: limits))
    case nil:
      self.init(path: path, try ContainerClip.open(path: path, head: head, limits: limits))
    }
  }

  /// Opens a folder of pictures, one a frame, in the order of the numbers in their names.
  ///
  /// Frames follow one another at `fps` per second.
  ///
  /// - Throws: `MediaError` when the folder is missing or holds no picture.
  public init(
    folder: String,
    fps: Double,
    limits: ImageLimits = .default
  ) throws(MediaError) {
    let paths = try PictureClip.pictures(in: folder)
    self.init(path: folder, try PictureClip.open(paths: paths, fps: fps, limits: limits))
  }

  private init(path: String, _ clip: OpenedClip) {
    self.path = path
    let swaps = clip.orientation >= 5
    width = swaps ? clip.storedHeight : clip.storedWidth
    height = swaps ? clip.storedWidth : clip.storedHeight
    rotation = [1: 0, 2: 0, 3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270][clip.orientation] ?? 0
    hasAudio = clip.hasAudio
    timeline = clip.timeline
    warnings = clip.warnings
    origin = clip.origin
  }

  /// Decodes the chosen frames and hands them over one by one.
  ///
  /// Choices are served in their order; one that goes back starts a new pass.
  ///
  /// - Precondition: every `index` is that of a frame of this clip.
  /// - Throws: `MediaError` when a frame cannot be decoded, or what `body` throws.
  public func forEachFrame(
    _ choices: [FrameChoice],
    _ body: (VideoFrame) throws -> Void
  ) throws {
    let pass = pass()
    for choice in choices { try body(try pass.frame(choice)) }
  }

  /// A pass that decodes frames as they are asked for.
  public func pass() -> FramePass { FramePass(origin, frameCount: timeline.times.count) }

  /// The chosen frames at once; memory grows with their number.
  ///
  /// - Throws: `MediaError` when a frame cannot be decoded.
  public func frames(_ choices: [FrameChoice]) throws(MediaError) -> [VideoFrame] {
    var frames: [VideoFrame] = []
    do {
      try forEachFrame(choices) { frames.append($0) }
    } catch let error as MediaError {
      throw error
    } catch {
      throw .unreadable(path: path, reason: String(describing: error))
    }
    return frames
  }
}

/// A pass over a clip that decodes a frame whenever one is asked for; one that goes back starts again.
///
/// Not shared between threads.
public final class FramePass {
  private let origin: FrameOrigin
  private let frameCount: Int
  private var source: (any FrameSource)?
  private var last: (index: Int, image: RGBImage)?

  init(_ origin: FrameOrigin, frameCount: Int) {
    self.origin = origin
    self.frameCount = frameCount
  }

  /// Decodes a frame.
  ///
  /// - Precondition: `index` is that of a frame of the clip.
  /// - Throws: `MediaError` when it cannot be decoded.
  public func frame(_ choice: FrameChoice) throws(MediaError) -> VideoFrame {
    precondition((0..<frameCount).contains(choice.index))
    if let last, last.index == choice.index { return VideoFrame(choice: choice, image: last.image) }
    if let last, choice.index < last.index { source = nil }
    let open: any FrameSource
    if let source { open = source } else { open = try origin.open() }
    source = open
    let image = try open.image(at: choice.index)
    last = (choice.index, image)
    return VideoFrame(choice: choice, image: image)
  }
}

/// What opening a clip of any kind gives.
struct OpenedClip {
  var storedWidth: Int
  var storedHeight: Int
  var orientation: Int
  var hasAudio: Bool
  var timeline: FrameTimeline
  var warnings: [String]
  var origin: FrameOrigin
}

/// Where frames come from; every `open` starts a new pass.
enum FrameOrigin: Sendable {
  case container(path: String, limits: ImageLimits, index: PacketIndex)
  case animation(path: String, limits: ImageLimits)
  case pictures(paths: [String], limits: ImageLimits)

  func open() throws(MediaError) -> any FrameSource {
    switch self {
    case .container(let path, let limits, let index):
      try ContainerSource(path: path, limits: limits, index: index)
    case .animation(let path, let limits):
      try AnimationSource(path: path, limits: limits)
    case .pictures(let paths, let limits):
      PictureSource(paths: paths, limits: limits)
    }
  }
}

/// One pass over the frames of a clip.
protocol FrameSource {
  /// The upright frame at a place in presentation order; places must ascend strictly.
  func image(at index: Int) throws(MediaError) -> RGBImage
}
