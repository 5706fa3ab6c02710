public import Foundation
public import Media
public import Models

/// A medium given to a request: where it is and how it is read.
public enum MediaSource: Hashable, Sendable {
  /// A still picture.
  case image(URL)
  /// A clip.
  case video(URL, VideoOptions)
  /// A recording.
  case audio(URL)
  /// The sound of a clip; a clip without any is a warning.
  case soundtrack(URL)

  /// What it is.
  public var kind: Models.MediaKind {
    switch self {
    case .image: .image
    case .video: .video
    case .audio, .soundtrack: .audio
    }
  }

  /// The file.
  public var url: URL {
    switch self {
    case .image(let url), .video(let url, _), .audio(let url), .soundtrack(let url): url
    }
  }
}

/// How frames are taken from a clip.
public struct VideoOptions: Hashable, Sendable {
  /// Which rule chooses the frames.
  public enum Sampling: String, Hashable, Sendable, CaseIterable {
    /// Spread evenly over the clip, at most `fps` a second.
    case even
    /// The reference processor's fixed number.
    case reference
  }

  /// Frames a second at most.
  public var fps: Double
  /// Frames at most.
  public var maxFrames: Int
  /// Whether the soundtrack follows the frames.
  public var includeAudio: Bool
  /// Which rule chooses the frames.
  public var sampling: Sampling

  /// Options with the source document's defaults.
  public init(
    fps: Double = 1,
    maxFrames: Int = 8,
    includeAudio: Bool = false,
    sampling: Sampling = .even
  ) {
    self.fps = fps
    self.maxFrames = maxFrames
    self.includeAudio = includeAudio
    self.sampling = sampling
  }
}

/// A picture or frame ready for the vision tower.
public struct PreparedImage: Sendable {
  /// The patches, row-major.
  public let patches: Patches
  /// How levels become numbers.
  public let scale: PixelScale

  /// Patches with their scale.
  public init(patches: Patches, scale: PixelScale) {
    self.patches = patches
    self.scale = scale
  }

  /// For each place of the tower's order, the row-major patch that stands there: blocks of
  /// `kernel × kernel` neighbours one after the other.
  public func blockOrder(kernel: Int) -> [Int] {
    var order: [Int] = []
    order.reserveCapacity(patches.count)
    for blockRow in stride(from: 0, to: patches.rows, by: kernel) {
      for blockColumn in stride(from: 0, to: patches.columns, by: kernel) {
        for row in blockRow..<blockRow + kernel {
          for column in blockColumn..<blockColumn + kernel {
            order.append(row * patches.columns + column)
          }
        }
      }
    }
    return order
  }
}

/// Sound ready for the audio tower: at most 30 s.
public struct PreparedAudio: Sendable {
  /// The log-mel frames.
  public let mel: MelSpectrogram

  /// Frames of one block.
  public init(mel: MelSpectrogram) { self.mel = mel }
}
