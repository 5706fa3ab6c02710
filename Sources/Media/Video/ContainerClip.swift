internal import CMedia

/// When the frames of a picture track are shown, and where decoding can start.
struct PacketIndex: Sendable {
  /// Presentation times in ticks, ascending, as in the file.
  private(set) var times: [Int64] = []
  /// Times of the key packets, ascending; none where frames are counted.
  private(set) var keys: [Int64] = []
  /// True where the container does not say when each frame is shown: then the n-th frame that
  /// comes out of the decoder is the one for the n-th time.
  let isCounted: Bool
  /// The end of the last frame, in ticks.
  private(set) var end: Int64 = 0

  /// Sorts the packets of a track; `period` is in ticks per frame on average, nil when unknown.
  init(_ packets: [TroikaPacket], period: Int64?) {
    isCounted = packets.contains { $0.presentation_time == Int64.min }
    var shown: [(time: Int64, duration: Int64)] = []
    for packet in packets {
      var time = isCounted ? packet.decoding_time : packet.presentation_time
      if time == Int64.min { time = shown.last.map { $0.time + max(1, $0.duration) } ?? 0 }
      // Times beyond this are no times of a clip.
      guard time.magnitude < 1 << 53, packet.duration < 1 << 53 else { continue }
      shown.append((time, packet.duration))
      if packet.is_key != 0 && !isCounted { keys.append(time) }
    }
    shown.sort { $0.time < $1.time }
    keys.sort()
    for frame in shown where isCounted || frame.time != times.last { times.append(frame.time) }
    guard let last = shown.last else { return }
    let previous = times.dropLast().last.map { last.time - $0 }
    end = last.time + (last.duration > 0 ? last.duration : period ?? previous ?? 0)
  }
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
    let index = scan(handle, rate: rate, info)
    info = troika_video_info(handle)
    guard let first = index.times.first else {
      throw .noSamples(path: path, what: "frames")
    }
    let timeline = FrameTimeline(
      times: index.times.map { $0 - first },
      duration: max(0, index.end - first),
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

  private static func scan(
    _ handle: OpaquePointer,
    rate: Double?,
    _ info: TroikaVideoInfo
  ) -> PacketIndex {
    var packets: [TroikaPacket] = []
    var packet = TroikaPacket()
    while troika_video_scan(handle, &packet) == 1 { packets.append(packet) }
    let tick = Double(info.tick_numerator) / Double(info.tick_denominator)
    let period = rate.map { (1 / ($0 * tick)).rounded() }.flatMap { Int64(exactly: $0) }
    return PacketIndex(packets, period: period)
  }

  private static func warnings(_ info: TroikaVideoInfo, seconds: Double) -> [String] {
    let announced = info.container_seconds
    if info.read_failed != 0 || announced > seconds + max(0.1, 0.02 * announced) {
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
  /// Frames that have come out of the decoder.
  private var decodedCount = 0

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
      if index.isCounted { time = index.times[min(decodedCount, index.times.count - 1)] }
      decodedCount += 1
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
