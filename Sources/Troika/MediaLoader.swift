import Foundation
import Media
import Models

/// A medium decoded as far as its token count.
struct LoadedMedium {
  /// What its soft tokens are made of, in order.
  enum Part {
    /// A picture, ready.
    case image(PreparedImage)
    /// Frames of a clip, decoded one by one while they are encoded.
    case frames(VideoReader, [FrameChoice])
    /// Blocks of sound, ready.
    case audio([PreparedAudio])
  }

  let part: Part
  let extent: MediaExtent
  var warnings: [String] = []
  /// Bytes that it takes until the request is over.
  var keptByteCount = 0
  /// Bytes more while it is decoded.
  var decodingByteCount = 0

  /// Tells apart what media show within this process: prepared pixels and sound by their content,
  /// clips by their file's size and time of change.
  var digest: Int {
    var hasher = Hasher()
    switch part {
    case .image(let image): hasher.combine(image.patches.levels)
    case .audio(let blocks): for block in blocks { hasher.combine(block.mel.values) }
    case .frames(let reader, let choices):
      var facts = stat()
      stat(reader.path, &facts)
      hasher.combine(reader.path)
      hasher.combine(facts.st_size)
      hasher.combine(facts.st_mtim.tv_sec)
      hasher.combine(facts.st_mtim.tv_nsec)
      for choice in choices { hasher.combine(choice.index) }
    }
    return hasher.finalize()
  }
}

/// Decodes media files into what the towers take.
struct MediaLoader {
  let processor: ProcessorSettings

  func load(_ source: MediaSource) throws -> LoadedMedium {
    switch source {
    case .image(let url): try image(url)
    case .video(let url, let options): try video(url, options)
    case .audio(let url): try audio(url)
    case .soundtrack(let url): try soundtrack(url)
    }
  }

  private func image(_ url: URL) throws -> LoadedMedium {
    let decoded = try ImageFile.decode(path: url.path)
    let patches: Patches
    do {
      patches = try ImagePreprocessor(geometry: processor.image).patches(decoded.image)
    } catch {
      throw MediaError.unsupported(path: url.path, format: "image", reason: "\(error)")
    }
    return LoadedMedium(
      part: .image(PreparedImage(patches: patches, scale: .image)),
      extent: .tokens(patches.softTokenCount),
      warnings: decoded.warnings.map { "\(url.path): \($0)" },
      keptByteCount: patches.byteCount,
      // The file, and the picture as it is stored and upright or resized one way.
      decodingByteCount: Self.fileByteCount(url) + 2 * decoded.image.pixels.count
    )
  }

  private func video(_ url: URL, _ options: VideoOptions) throws -> LoadedMedium {
    let reader = try VideoReader(path: url.path)
    let choices =
      switch options.sampling {
      case .even: reader.timeline.even(fps: options.fps, maxFrames: options.maxFrames)
      case .reference: reader.timeline.reference(numFrames: processor.referenceFrames)
      }
    let tokens: Int
    do {
      tokens = try processor.frameTokens(width: reader.width, height: reader.height)
    } catch {
      throw MediaError.unsupported(path: url.path, format: "video", reason: "\(error)")
    }
    return LoadedMedium(
      part: .frames(reader, choices),
      extent: .frames(choices.map { .init(seconds: $0.seconds, tokenCount: tokens) }),
      warnings: reader.warnings.map { "\(url.path): \($0)" },
      // The frames that a decoder refers to, and the one that is shown, upright and resized one way.
      keptByteCount: 24 * reader.width * reader.height * 3 / 2,
      decodingByteCount: 4 * reader.width * reader.height * 3
    )
  }

  private func soundtrack(_ url: URL) throws -> LoadedMedium {
    do {
      return try audio(url)
    } catch MediaError.noSoundTrack {
      return LoadedMedium(
        part: .audio([]),
        extent: .blocks([]),
        warnings: ["\(url.path): has no sound track"]
      )
    }
  }

  private func audio(_ url: URL) throws -> LoadedMedium {
    let decoded = try AudioFile.decode(path: url.path)
    let mel = try LogMel(parameters: processor.mel)
    let blocks = AudioBlocks.split(decoded.samples).map { PreparedAudio(mel: mel($0)) }
    var warnings = decoded.warnings.map { "\(url.path): \($0)" }
    if blocks.count > 1 {
      let seconds = Int(decoded.durationSeconds.rounded())
      warnings.append("\(url.path): \(seconds) s of sound go in as \(blocks.count) blocks")
    }
    if blocks.allSatisfy({ $0.mel.softTokenCount == 0 }) {
      warnings.append("\(url.path): too short to be heard, \(decoded.samples.count) samples")
    }
    return LoadedMedium(
      part: .audio(blocks),
      extent: .blocks(blocks.map(\.mel.softTokenCount)),
      warnings: warnings,
      keptByteCount: blocks.reduce(0) { $0 + $1.mel.values.count * 4 },
      // The samples, once more while they grow, and in blocks.
      decodingByteCount: decoded.samples.count * 4 * 4
    )
  }

  private static func fileByteCount(_ url: URL) -> Int {
    var facts = stat()
    return stat(url.path, &facts) == 0 ? Int(facts.st_size) : 0
  }
}

extension Patches {
  /// Bytes of levels and positions.
  fileprivate var byteCount: Int { levels.count + positions.count * 4 }
}
