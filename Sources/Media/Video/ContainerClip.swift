internal import CMedia

/// When the packets of a picture track are shown, and where decoding can start.
struct PacketIndex: Sendable {
  /// Presentation times in ticks, ascending, as in the file.
  var times: [Int64]
  /// Times of the key packets, ascending.
  var keys: [Int64]
}

/// Video files as clips.
enum ContainerClip {
  static func open(
    path: String,
    head: [UInt8],
    limits: ImageLimits
  ) throws(MediaError) -> OpenedClip {
    var report = ContainerReport()
    guard let handle = troika_video_open(path, Int64(limits.pixelCount), &report.raw) else {
      throw report.error(path: path, wanted: ContainerReport.pictures, head: head)
    }
    defer { troika_video_close(handle) }
    var info = troika_video_info(handle)
    let (width, height) = (Int(info.width), Int(info.height))
    guard width > 0, height > 0 else {
      throw .damaged(path: path, format: report.format, reason: "its frames have no size")
    }
    guard width * height <= limits.pixelCount else {
      throw .tooManyPixels(path: path, width: width, height: height, limit: limits.pixelCount)
    }
    let rate = info.frames_per_second > 0 ? info.frames_per_second : nil
    let (index, end) = scan(handle, rate: rate, info)
    info = troika_video_info(handle)
    guard let first = index.times.first else {
      throw .noSamples(path: path, what: "frames")
    }
    let timeline = FrameTimeline(
      times: index.times.map { $0 - first },
      duration: max(0, end - first),
      tick: (Int(info.tick_numerator), Int(info.tick_denominator)),
      framesPerSecond: rate
    )
    return OpenedClip(
      storedWidth: width,
      storedHeight: height,
      orientation: Int(info.orientation),
      hasAudio: info.has_sound != 0,
      timeline: timeline,
      warnings: warnings(info, seconds: timeline.durationSeconds),
      origin: .container(path: path, limits: limits, index: index)
    )
  }

  /// The times of all packets and the end of the last one, in ticks.
  private static func scan(
    _ handle: OpaquePointer,
    rate: Double?,
    _ info: TroikaVideoInfo
  ) -> (PacketIndex, end: Int64) {
    var index = PacketIndex(times: [], keys: [])
    var end = Int64.min
    var lastHasDuration = false
    var (time, duration, isKey): (Int64, Int64, Int32) = (0, 0, 0)
    while troika_video_scan(handle, &time, &duration, &isKey) == 1 {
      // Times beyond this are no times of a clip.
      guard abs(time) < 1 << 53, duration < 1 << 53 else { continue }
      index.times.append(time)
      if isKey != 0 { index.keys.append(time) }
      if time + duration >= end {
        end = time + duration
        lastHasDuration = duration > 0
      }
    }
    index.times.sort()
    index.keys.sort()
    var unique: [Int64] = []
    for time in index.times where time != unique.last { unique.append(time) }
    index.times = unique
    if !lastHasDuration, let last = unique.last {
      let seconds = Double(info.tick_numerator) / Double(info.tick_denominator)
      let previous = unique.dropLast().last.map { last - $0 }
      end = last + (rate.map { Int64((1 / ($0 * seconds)).rounded()) } ?? previous ?? 0)
    }
    return (index, end)
  }

  private static func warnings(_ info: TroikaVideoInfo, seconds: Double) -> [String] {
    let announced = info.container_seconds
    if info.read_failed != 0 || announced > seconds + max(1, 0.05 * announced) {
      return ["truncated: \(seconds) s of frames are there and used"]
    }
    return []
  }
}

/// One pass over the frames of a video file.
final class ContainerSource: FrameSource {
  private let path: String
  private let format: String
  private let index: PacketIndex
  private let limits: ImageLimits
  private let orientation: Int
  private let handle: OpaquePointer
  /// Times of the decoder's current frame and of the one before it.
  private var currentTime: Int64?
  private var previousTime: Int64?
  private var isAtEnd = false

  init(path: String, limits: ImageLimits, index: PacketIndex) throws(MediaError) {
    var report = ContainerReport()
    guard let handle = troika_video_open(path, Int64(limits.pixelCount), &report.raw) else {
      throw report.error(path: path, wanted: ContainerReport.pictures, head: [])
    }
    self.path = path
    self.limits = limits
    self.index = index
    self.handle = handle
    format = report.format
    orientation = Int(troika_video_info(handle).orientation)
  }

  deinit { troika_video_close(handle) }

  func image(at place: Int) throws(MediaError) -> RGBImage {
    let target = index.times[place]
    skip(to: target)
    while !isAtEnd, currentTime ?? Int64.min < target { try decodeNext() }
    guard let currentTime else {
      throw .damaged(path: path, format: format, reason: "none of its frames can be decoded")
    }
    // A frame that is missing is stood in for by the one shown before it.
    let usesPrevious = currentTime > target && previousTime != nil
    return try picture(previous: usesPrevious)
  }

  /// Jumps to the last key packet before `target` where that saves decoding.
  private func skip(to target: Int64) {
    var (low, high) = (0, index.keys.count)
    while low < high {
      let middle = (low + high) / 2
      if index.keys[middle] <= target { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return }
    let key = index.keys[low - 1]
    if key > currentTime ?? (index.times.first ?? key) { troika_video_skip_to(handle, key) }
  }

  private func decodeNext() throws(MediaError) {
    var time: Int64 = 0
    switch troika_video_next(handle, &time) {
    case 1:
      previousTime = currentTime
      currentTime = time
    case 0:
      isAtEnd = true
    default:
      throw .unreadable(path: path, reason: "there is not enough memory")
    }
  }

  private func picture(previous: Bool) throws(MediaError) -> RGBImage {
    var (columns, rows): (Int32, Int32) = (0, 0)
    troika_video_frame_size(handle, previous ? 1 : 0, &columns, &rows)
    let (width, height) = (Int(columns), Int(rows))
    guard width > 0, height > 0, width * height <= limits.pixelCount else {
      throw .damaged(path: path, format: format, reason: "a frame is \(width) x \(height) pixels")
    }
    var status: Int32 = -1
    let rgba = [UInt8](unsafeUninitializedCapacity: width * height * 4) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      status = troika_video_rgba(handle, previous ? 1 : 0, base)
      count = status == 0 ? width * height * 4 : 0
    }
    guard status == 0 else {
      throw .unsupported(path: path, format: format, reason: "its pixel format has no RGB form")
    }
    let layout = PixelLayout(colourBands: 3, hasAlpha: true, bands: 4)
    let pixels = [UInt8](unsafeUninitializedCapacity: width * height * 3) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      layout.convert(rgba, count: width * height, to: base)
      count = width * height * 3
    }
    return Orientation.upright(
      RGBImage(width: width, height: height, pixels: pixels),
      orientation: orientation
    )
  }
}
