/// Still images from files or memory.
public enum ImageFile {
  /// Decodes the picture at `path`: its first frame, upright, in sRGB, on white.
  ///
  /// The format is told by content, the size is checked in the header before any pixel is
  /// decoded.
  ///
  /// - Throws: `MediaError` when the file is missing, no image, damaged or beyond `limits`.
  public static func decode(
    path: String,
    limits: ImageLimits = .default
  ) throws(MediaError) -> DecodedImage {
    let bytes = try FileBytes.read(path: path, limit: limits.byteCount)
    return try decode(bytes: bytes, name: path, limits: limits)
  }

  /// Decodes a picture from the bytes of its file; `name` stands for the path in messages.
  ///
  /// - Throws: as `decode(path:limits:)`.
  public static func decode(
    bytes: [UInt8],
    name: String,
    limits: ImageLimits = .default
  ) throws(MediaError) -> DecodedImage {
    guard !bytes.isEmpty else { throw .empty(path: name) }
    guard let format = ImageFormat(signatureOf: bytes) else {
      throw .unknownFormat(
        path: name,
        expected: ImageFormat.expectation,
        found: ContentNames.describe(bytes)
      )
    }
    if format == .bmp {
      return try BMPReader(bytes: bytes, name: name).decode(limits: limits)
    }
    return try VipsDecoder(bytes: bytes, name: name, format: format, limits: limits).decode()
  }
}
