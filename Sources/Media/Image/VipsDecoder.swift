internal import CMedia

/// Decoding by libvips, with the loader named by the caller and rows read in strips.
struct VipsDecoder {
  let bytes: [UInt8]
  let name: String
  let format: ImageFormat
  let limits: ImageLimits

  /// Rows that are in flight between libvips and the picture.
  private static let stripHeight = 64

  func decode() throws(MediaError) -> DecodedImage {
    do {
      return try decode(lenient: false)
    } catch .damaged(let path, let kind, let reason) {
      // A JPEG that breaks off is shown as far as it goes, as viewers do.
      guard format == .jpeg, JPEGStructure(bytes).hasScanData else {
        throw .damaged(path: path, format: kind, reason: reason)
      }
      var result = try decode(lenient: true)
      result.warnings.append("damaged or truncated JPEG, what is missing is gray (\(reason))")
      return result
    }
  }

  private func decode(lenient: Bool) throws(MediaError) -> DecodedImage {
    let outcome = bytes.withUnsafeBufferPointer { buffer in
      Result { () throws(MediaError) in try decode(buffer, lenient: lenient) }
    }
    return try outcome.get()
  }

  private func decode(
    _ buffer: UnsafeBufferPointer<UInt8>,
    lenient: Bool
  ) throws(MediaError) -> DecodedImage {
    var reason = ErrorText()
    guard
      let handle = reason.with({
        troika_image_open(
          buffer.baseAddress,
          buffer.count,
          loader,
          lenient ? 1 : 0,
          $0,
          ErrorText.capacity
        )
      })
    else { throw damaged(reason.text) }
    defer { troika_image_close(handle) }
    let stored = troika_image_info(handle)
    let (width, height) = (Int(stored.width), Int(stored.height))
    guard width > 0, height > 0 else { throw damaged("it has no pixels") }
    guard width.multipliedReportingOverflow(by: height).partialValue <= limits.pixelCount,
      width <= limits.pixelCount, height <= limits.pixelCount
    else {
      throw .tooManyPixels(path: name, width: width, height: height, limit: limits.pixelCount)
    }
    var warnings: [String] = []
    let profile = applyProfile(handle, stored, &warnings)
    let picture = try readRows(handle, width: width, height: height)
    let orientation = (1...8).contains(stored.orientation) ? Int(stored.orientation) : 1
    let frames = max(1, Int(stored.pages))
    if frames > 1 { warnings.append("\(frames) \(frameWord) one is used") }
    return DecodedImage(
      image: Orientation.upright(picture, orientation: orientation),
      format: format,
      storedWidth: width,
      storedHeight: height,
      orientation: orientation,
      frameCount: frames,
      profile: profile,
      warnings: warnings
    )
  }

  private func applyProfile(
    _ handle: OpaquePointer,
    _ info: TroikaImageInfo,
    _ warnings: inout [String]
  ) -> ProfileUse {
    guard let start = info.icc, info.icc_length > 0 else { return .none }
    let profile = ICCProfile([UInt8](UnsafeBufferPointer(start: start, count: info.icc_length)))
    guard profile.fits(colourBands: Int(info.colour_bands)) else {
      warnings.append("colour profile ignored: it is not for this kind of picture")
      return .ignored
    }
    if profile.isSRGB { return .alreadySRGB }
    var reason = ErrorText()
    guard reason.with({ troika_image_apply_profile(handle, $0, ErrorText.capacity) }) == 0 else {
      warnings.append("colour profile ignored: \(reason.text)")
      return .ignored
    }
    return .converted
  }

  private func readRows(
    _ handle: OpaquePointer,
    width: Int,
    height: Int
  ) throws(MediaError) -> RGBImage {
    let info = troika_image_info(handle)
    let layout = PixelLayout(
      colourBands: Int(info.colour_bands),
      hasAlpha: info.has_alpha != 0,
      bands: Int(info.bands)
    )
    let samples = width * layout.bands
    var strip = [UInt8](
      repeating: 0,
      count: samples * Int(info.bytes_per_sample) * min(height, Self.stripHeight)
    )
    var failure: String?
    let pixels = [UInt8](unsafeUninitializedCapacity: width * height * 3) { output, filled in
      guard let base = output.baseAddress else { return }
      for top in stride(from: 0, to: height, by: Self.stripHeight) {
        let rows = min(Self.stripHeight, height - top)
        var reason = ErrorText()
        let status = reason.with { text in
          troika_image_read_rows(handle, Int32(top), Int32(rows), &strip, text, ErrorText.capacity)
        }
        guard status == 0 else {
          failure = reason.text
          return
        }
        if info.bytes_per_sample == 2 { Self.narrow(&strip, count: samples * rows) }
        layout.convert(strip, count: width * rows, to: base + filled)
        filled += width * rows * 3
      }
    }
    if let failure { throw damaged(failure) }
    return RGBImage(width: width, height: height, pixels: pixels)
  }

  /// Replaces `count` native-endian 16-bit samples by 8-bit ones, in place.
  private static func narrow(_ strip: inout [UInt8], count: Int) {
    strip.withUnsafeMutableBytes { bytes in
      for index in 0..<count {
        let level = bytes.load(fromByteOffset: index * 2, as: UInt16.self)
        bytes[index] = Compositing.to8Bits(level)
      }
    }
  }

  private func damaged(_ reason: String) -> MediaError {
    .damaged(path: name, format: format.rawValue, reason: reason)
  }

  private var frameWord: String {
    switch format {
    case .tiff: "pages, the first"
    case .heic, .avif: "pictures, the primary"
    default: "animation frames, the first"
    }
  }

  private var loader: TroikaImageLoader {
    switch format {
    case .jpeg: TROIKA_IMAGE_JPEG
    case .png: TROIKA_IMAGE_PNG
    case .webp: TROIKA_IMAGE_WEBP
    case .gif: TROIKA_IMAGE_GIF
    case .tiff, .bmp: TROIKA_IMAGE_TIFF
    case .heic, .avif: TROIKA_IMAGE_HEIF
    }
  }
}
