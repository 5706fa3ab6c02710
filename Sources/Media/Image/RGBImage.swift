/// An upright picture in 8-bit sRGB without transparency.
public struct RGBImage: Equatable, Sendable {
  /// Columns.
  public let width: Int
  /// Rows.
  public let height: Int
  /// Levels 0-255.
  ///
  /// Shape `[height, width, 3]`, row-major, red first.
  public var pixels: [UInt8]

  /// Wraps levels that are laid out as `[height, width, 3]`.
  ///
  /// - Precondition: `pixels.count == width * height * 3`, both sides at least 1.
  public init(width: Int, height: Int, pixels: [UInt8]) {
    precondition(width > 0 && height > 0 && pixels.count == width * height * 3)
    self.width = width
    self.height = height
    self.pixels = pixels
  }
}

/// What may be spent on one still image.
public struct ImageLimits: Equatable, Sendable {
  /// Largest `width * height` a header may announce.
  public var pixelCount: Int
  /// Largest file, in bytes.
  public var byteCount: Int

  /// 178,956,970 pixels (half a GiB of RGB) and files of 1 GiB.
  public static let `default` = ImageLimits(pixelCount: 178_956_970, byteCount: 1 << 30)

  /// Sets both limits.
  public init(pixelCount: Int, byteCount: Int = 1 << 30) {
    self.pixelCount = pixelCount
    self.byteCount = byteCount
  }
}

/// What became of an embedded colour profile.
public enum ProfileUse: String, Equatable, Sendable {
  /// The file has none; its values are taken as sRGB.
  case none
  /// The profile describes sRGB itself; the values are left alone.
  case alreadySRGB
  /// The values were converted to sRGB.
  case converted
  /// The profile does not fit the picture; the values are taken as sRGB, with a warning.
  case ignored
}

/// A picture and what its file said about it.
public struct DecodedImage: Equatable, Sendable {
  /// Upright 8-bit sRGB, composited on white.
  public var image: RGBImage
  /// The format by content.
  public var format: ImageFormat
  /// Columns as stored, before orientation.
  public var storedWidth: Int
  /// Rows as stored, before orientation.
  public var storedHeight: Int
  /// EXIF orientation 1-8; 1 is upright.
  public var orientation: Int
  /// Frames or pages in the file; the first is the one decoded.
  public var frameCount: Int
  /// What became of the colour profile.
  public var profile: ProfileUse
  /// What a user should know, one line each.
  public var warnings: [String]
}
