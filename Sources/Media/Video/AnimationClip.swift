internal import CMedia

/// Animated GIF and WebP as clips.
enum AnimationClip {
  static func open(path: String, limits: ImageLimits) throws(MediaError) -> OpenedClip {
    let source = try AnimationSource(path: path, limits: limits)
    var times: [Int64] = []
    var end: Int64 = 0
    for delay in source.delays {
      times.append(end)
      end += delay
    }
    let isStill = times.count == 1
    let rate = isStill || end == 0 ? nil : Double(times.count) * 1000 / Double(end)
    return OpenedClip(
      storedWidth: source.width,
      storedHeight: source.height,
      orientation: 1,
      hasAudio: false,
      timeline: FrameTimeline(
        times: times,
        duration: isStill ? 0 : end,
        tick: (1, 1000),
        framesPerSecond: rate
      ),
      warnings: [],
      origin: .animation(path: path, limits: limits)
    )
  }
}

/// One pass over the frames of an animation.
final class AnimationSource: FrameSource {
  let width: Int
  let height: Int
  /// Milliseconds of each frame.
  let delays: [Int64]

  private let path: String
  private let format: String
  private let handle: OpaquePointer
  private let layout: PixelLayout
  /// What the handle reads from.
  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private var nextIndex = 0

  init(path: String, limits: ImageLimits) throws(MediaError) {
    let data = try FileBytes.read(path: path, limit: limits.byteCount)
    let format = ImageFormat(signatureOf: data) ?? .gif
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: data.count)
    _ = bytes.initialize(from: data)
    var reason = ErrorText()
    let opened = reason.with {
      troika_image_open(
        bytes.baseAddress,
        bytes.count,
        format == .webp ? TROIKA_IMAGE_WEBP : TROIKA_IMAGE_GIF,
        Int32(TROIKA_IMAGE_ALL_FRAMES),
        $0,
        ErrorText.capacity
      )
    }
    guard let handle = opened else {
      bytes.deallocate()
      throw .damaged(path: path, format: format.rawValue, reason: reason.text)
    }
    self.path = path
    self.format = format.rawValue
    self.handle = handle
    self.bytes = bytes
    let info = troika_image_info(handle)
    width = Int(info.width)
    height = Int(info.height)
    layout = PixelLayout(
      colourBands: Int(info.colour_bands),
      hasAlpha: info.has_alpha != 0,
      bands: Int(info.bands)
    )
    delays = (0..<max(1, info.pages)).map { index in
      // As viewers do: a missing or absurdly short delay stands for a tenth of a second.
      let delay = Int64(troika_image_delay(handle, index))
      return delay < 20 ? 100 : min(delay, 655_350)
    }
    guard info.bytes_per_sample == 1, width > 0, height > 0 else {
      throw .damaged(path: path, format: format.rawValue, reason: "it has no pixels")
    }
    guard width * height <= limits.pixelCount else {
      throw .tooManyPixels(path: path, width: width, height: height, limit: limits.pixelCount)
    }
  }

  deinit {
    troika_image_close(handle)
    bytes.deallocate()
  }

  func image(at index: Int) throws(MediaError) -> RGBImage {
    precondition(index >= nextIndex && index < delays.count)
    var pixels: [UInt8] = []
    while nextIndex <= index {
      pixels = try readFrame(at: nextIndex, isWanted: nextIndex == index)
      nextIndex += 1
    }
    return RGBImage(width: width, height: height, pixels: pixels)
  }

  /// Reads one frame's rows; frames that are not wanted are read for the ones after them.
  private func readFrame(at index: Int, isWanted: Bool) throws(MediaError) -> [UInt8] {
    let rowsAtOnce = min(height, 64)
    var strip = [UInt8](repeating: 0, count: width * layout.bands * rowsAtOnce)
    var failure: String?
    let total = isWanted ? width * height * 3 : 0
    let pixels = [UInt8](unsafeUninitializedCapacity: total) { output, filled in
      for top in stride(from: 0, to: height, by: rowsAtOnce) {
        let rows = min(rowsAtOnce, height - top)
        var reason = ErrorText()
        let status = reason.with { text in
          troika_image_read_rows(
            handle,
            Int32(index * height + top),
            Int32(rows),
            &strip,
            text,
            ErrorText.capacity
          )
        }
        guard status == 0 else {
          failure = reason.text
          return
        }
        guard isWanted, let base = output.baseAddress else { continue }
        layout.convert(strip, count: width * rows, to: base + filled)
        filled += width * rows * 3
      }
    }
    if let failure { throw .damaged(path: path, format: format, reason: failure) }
    return pixels
  }
}
