extension VisionConfiguration {
  /// The smaller of the video and still-image shapes that holds `patches` patches.
  ///
  /// E2B: 630 patches for frames, 2520 for stills.
  public func bucket(patches: Int) -> Int {
    let shapes = [70, softTokens].map { $0 * patchesPerToken }.sorted()
    return shapes.first { $0 >= patches } ?? patches
  }
}

extension AudioConfiguration {
  /// Mel frames of the fixed shapes: 2, 5, 10 and 30 s at a hop of 10 ms.
  public static let buckets = [200, 500, 1000, 3000]

  /// The smallest fixed shape that holds `frames` mel frames.
  public static func bucket(frames: Int) -> Int { buckets.first { $0 >= frames } ?? frames }
}
