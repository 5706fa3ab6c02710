internal import CMedia

/// What a file is to the model.
public enum MediaKind: String, Equatable, Sendable {
  /// A still picture, or an animated GIF or WebP.
  case image
  /// A container with a picture track.
  case video
  /// A container with sound only.
  case audio
}

/// Telling kinds of media apart by content.
public enum MediaProbe {
  /// The kind of the file at `path`; names and endings play no part.
  ///
  /// A cover picture does not make a recording a video.
  ///
  /// - Throws: `MediaError` when the file is missing or no media.
  public static func kind(path: String) throws(MediaError) -> MediaKind {
    let head = try FileBytes.head(path: path, count: 4096)
    if ImageFormat(signatureOf: head) != nil { return .image }
    var report = ContainerReport()
    let tracks = troika_media_tracks(path, &report.raw)
    guard report.raw.status == TROIKA_MEDIA_OK else {
      throw report.error(path: path, wanted: "an image, a video or a recording", head: head)
    }
    if tracks.has_picture != 0 { return .video }
    guard tracks.has_sound != 0 else {
      throw .noSamples(path: path, what: "pictures or sound")
    }
    return .audio
  }
}
