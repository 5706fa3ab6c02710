internal import Glibc

/// Clips of separate pictures: one still, or a folder of numbered ones.
enum PictureClip {
  /// `fps` nil stands for a single picture without duration.
  static func open(
    paths: [String],
    fps: Double?,
    limits: ImageLimits
  ) throws(MediaError) -> OpenedClip {
    guard let first = paths.first else { throw .noSamples(path: "", what: "pictures") }
    let decoded = try ImageFile.decode(path: first, limits: limits)
    let rate = fps.map { min(max($0, 1e-4), 1e4) }
    let nanoseconds = rate.map { 1e9 / $0 } ?? 0
    let times = paths.indices.map { Int64((Double($0) * nanoseconds).rounded()) }
    let duration = Int64((Double(paths.count) * nanoseconds).rounded())
    return OpenedClip(
      storedWidth: decoded.storedWidth,
      storedHeight: decoded.storedHeight,
      orientation: decoded.orientation,
      hasAudio: false,
      timeline: FrameTimeline(
        times: times,
        duration: duration,
        tick: (1, 1_000_000_000),
        framesPerSecond: rate
      ),
      warnings: decoded.warnings,
      origin: .pictures(paths: paths, limits: limits)
    )
  }

  /// The picture files in a folder, by the last number in their names, then by name.
  static func pictures(in folder: String) throws(MediaError) -> [String] {
    guard let directory = opendir(folder) else {
      throw errno == ENOENT
        ? .notFound(path: folder)
        : .unreadable(path: folder, reason: "it is no folder that can be listed")
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
      if !name.hasPrefix("."),
        ["png", "jpg", "jpeg", "webp", "bmp", "tif", "tiff"].contains(ending)
      {
        names.append(name)
      }
    }
    guard !names.isEmpty else { throw .noSamples(path: folder, what: "numbered pictures") }
    let sorted = names.map { (number(in: $0), $0) }.sorted { $0 < $1 }
    return sorted.map { "\(folder)/\($0.1)" }
  }

  private static func number(in name: String) -> Int {
    let stem = name.split(separator: ".").first ?? ""
    let digits = stem.reversed().drop { !$0.isASCII || !$0.isNumber }
      .prefix { $0.isASCII && $0.isNumber }
    return Int(String(digits.reversed())) ?? 0
  }
}

/// One pass over separate pictures.
struct PictureSource: FrameSource {
  let paths: [String]
  let limits: ImageLimits

  func image(at index: Int) throws(MediaError) -> RGBImage {
    try ImageFile.decode(path: paths[index], limits: limits).image
  }
}
