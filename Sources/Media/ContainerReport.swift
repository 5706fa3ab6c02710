internal import CMedia

/// What a container function says about a failure, as a typed error.
struct ContainerReport {
  var raw = TroikaMediaReport()

  /// The container's short name, as `mp4` for `mov,mp4,m4a,3gp,3g2,mj2`.
  var format: String {
    let name = Self.text(raw.format)
    if name.hasPrefix("mov,mp4") { return "MP4" }
    if name.hasPrefix("matroska") { return "Matroska" }
    return name.isEmpty ? "media" : name.split(separator: ",").first.map(String.init) ?? name
  }

  var codec: String { Self.text(raw.codec) }

  /// The error that the status stands for.
  func error(path: String, wanted: String, head: [UInt8]) -> MediaError {
    let reason = Self.text(raw.reason)
    switch raw.status {
    case TROIKA_MEDIA_UNKNOWN:
      return .unknownFormat(path: path, expected: wanted, found: ContentNames.describe(head))
    case TROIKA_MEDIA_NO_TRACK where wanted == Self.sound:
      return .noSoundTrack(path: path, format: format)
    case TROIKA_MEDIA_NO_TRACK:
      return .noPictureTrack(path: path, format: format)
    case TROIKA_MEDIA_NO_DECODER:
      return .unsupported(path: path, format: format, reason: "\(reason) \(codec)")
    case TROIKA_MEDIA_MEMORY:
      return .unreadable(path: path, reason: "there is not enough memory")
    case TROIKA_MEDIA_DAMAGED where format == "MP4":
      return .damaged(
        path: path,
        format: format,
        reason: "its index (the moov box) is missing or broken"
      )
    default:
      return .damaged(path: path, format: format, reason: reason.lowercased())
    }
  }

  static let sound = "an audio file"
  static let pictures = "a video file"

  /// The text of a fixed C array.
  private static func text<Bytes>(_ bytes: Bytes) -> String {
    withUnsafeBytes(of: bytes) { raw in
      String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
