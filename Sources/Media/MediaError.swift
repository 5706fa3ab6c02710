/// Why a file could not be used; `description` is one line, `<path>: <expected, came>`.
public enum MediaError: Error, Equatable, Sendable, CustomStringConvertible {
  /// There is nothing at the path.
  case notFound(path: String)
  /// The path names a directory where a file is needed.
  case isDirectory(path: String)
  /// The system refused to open or read the file.
  case unreadable(path: String, reason: String)
  /// The file has no bytes.
  case empty(path: String)
  /// The file has more bytes than the limit.
  case fileTooLarge(path: String, byteCount: Int, limit: Int)
  /// The content is of no kind that is read here.
  case unknownFormat(path: String, expected: String, found: String)
  /// The header announces more pixels than the limit.
  case tooManyPixels(path: String, width: Int, height: Int, limit: Int)
  /// The content is of a known kind, but broken.
  case damaged(path: String, format: String, reason: String)
  /// The content is of a known kind, but of a variety that is not read here.
  case unsupported(path: String, format: String, reason: String)
  /// A moving picture was expected, but the container has no picture track.
  case noPictureTrack(path: String, format: String)
  /// Sound was expected, but the container has no sound track.
  case noSoundTrack(path: String, format: String)
  /// The track is there, but holds nothing.
  case noSamples(path: String, what: String)

  /// One line that names the file, what was expected and what came.
  public var description: String {
    switch self {
    case .notFound(let path): "\(path): expected a file, there is none"
    case .isDirectory(let path): "\(path): expected a file, it is a directory"
    case .unreadable(let path, let reason): "\(path): expected a readable file, \(reason)"
    case .empty(let path): "\(path): expected media, the file is empty (0 bytes)"
    case .fileTooLarge(let path, let byteCount, let limit):
      "\(path): expected at most \(limit) bytes, the file has \(byteCount)"
    case .unknownFormat(let path, let expected, let found):
      "\(path): expected \(expected), found \(found)"
    case .tooManyPixels(let path, let width, let height, let limit):
      "\(path): expected at most \(limit) pixels, the header says \(width) x \(height)"
    case .damaged(let path, let format, let reason):
      "\(path): expected intact \(format) data, \(reason)"
    case .unsupported(let path, let format, let reason):
      "\(path): expected a supported \(format) file, \(reason)"
    case .noPictureTrack(let path, let format):
      "\(path): expected a picture track, the \(format) file has none"
    case .noSoundTrack(let path, let format):
      "\(path): expected a sound track, the \(format) file has none"
    case .noSamples(let path, let what):
      "\(path): expected \(what), the track holds none"
    }
  }
}
