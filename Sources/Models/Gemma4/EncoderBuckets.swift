extension VisionConfiguration {
  /// Patches of the fixed shapes: E2B has 630 for frames and 2520 for stills.
  public var buckets: [Int] { Set([70, softTokens]).map { $0 * patchesPerToken }.sorted() }

  /// The smallest fixed shape that holds `patches` patches.
  public func bucket(patches: Int) -> Int { buckets.first { $0 >= patches } ?? patches }
}

extension AudioConfiguration {
  /// Mel frames of the fixed shapes: 2, 5, 10 and 30 s at a hop of 10 ms.
  public static let buckets = [200, 500, 1000, 3000]

  /// The smallest fixed shape that holds `frames` mel frames.
  public static func bucket(frames: Int) -> Int { buckets.first { $0 >= frames } ?? frames }
}
