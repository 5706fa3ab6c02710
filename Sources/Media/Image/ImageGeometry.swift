/// Why a picture has no size the encoder could take.
public enum GeometryError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A side is below 1.
  case noPixels(width: Int, height: Int)
  /// A parameter is below 1.
  case badParameter(name: String, value: Int)
  /// Both sides would vanish.
  case vanishes(width: Int, height: Int, side: Int)
  /// The target is larger than the budget.
  case beyondBudget(width: Int, height: Int, pixelBudget: Int)

  /// One line with the numbers.
  public var description: String {
    switch self {
    case .noPixels(let width, let height):
      "expected a picture with pixels, got \(width) x \(height)"
    case .badParameter(let name, let value):
      "expected \(name) of at least 1, got \(value)"
    case .vanishes(let width, let height, let side):
      "expected at least \(side) pixels a side after resizing, \(width) x \(height) gives none"
    case .beyondBudget(let width, let height, let pixelBudget):
      "expected at most \(pixelBudget) pixels after resizing, got \(width) x \(height)"
    }
  }
}

/// The sizes a vision encoder takes: whole pooling cells within a budget of soft tokens.
///
/// Source: the Gemma 4 image processor.
public struct ImageGeometry: Equatable, Sendable {
  /// Pixels along a patch's side.
  public let patchSize: Int
  /// Patches along a pooling cell's side.
  public let poolingKernel: Int
  /// Most soft tokens per picture.
  public let maxSoftTokens: Int

  /// E2B's still images: patches of 16, pooled 3 by 3, 280 tokens.
  public static let e2bImage = ImageGeometry(
    uncheckedPatchSize: 16,
    poolingKernel: 3,
    maxSoftTokens: 280
  )
  /// E2B's video frames: patches of 16, pooled 3 by 3, 70 tokens.
  public static let e2bVideo = ImageGeometry(
    uncheckedPatchSize: 16,
    poolingKernel: 3,
    maxSoftTokens: 70
  )

  /// Sets the parameters as a processor's configuration names them.
  ///
  /// - Throws: `GeometryError.badParameter` when one is below 1.
  public init(patchSize: Int, poolingKernel: Int, maxSoftTokens: Int) throws(GeometryError) {
    let parameters = [
      ("patch_size", patchSize), ("pooling_kernel_size", poolingKernel),
      ("max_soft_tokens", maxSoftTokens),
    ]
    for (name, value) in parameters where value < 1 {
      throw .badParameter(name: name, value: value)
    }
    self.init(
      uncheckedPatchSize: patchSize,
      poolingKernel: poolingKernel,
      maxSoftTokens: maxSoftTokens
    )
  }

  private init(uncheckedPatchSize: Int, poolingKernel: Int, maxSoftTokens: Int) {
    self.patchSize = uncheckedPatchSize
    self.poolingKernel = poolingKernel
    self.maxSoftTokens = maxSoftTokens
  }

  /// Pixels along a pooling cell's side; both target sides are multiples of it.
  public var cellSide: Int { patchSize * poolingKernel }

  /// Most patches per picture.
  public var maxPatches: Int { maxSoftTokens * poolingKernel * poolingKernel }

  /// The size to resize a `width` by `height` picture to, in pixels.
  ///
  /// - Throws: `GeometryError` where no size fits.
  public func target(
    width: Int,
    height: Int
  ) throws(GeometryError) -> (width: Int, height: Int) {
    guard width > 0, height > 0 else { throw .noPixels(width: width, height: height) }
    let side = cellSide
    let budget = maxPatches * patchSize * patchSize
    let factor = (Double(budget) / (Double(height) * Double(width))).squareRoot()
    var targetHeight = Int((factor * Double(height) / Double(side)).rounded(.down)) * side
    var targetWidth = Int((factor * Double(width) / Double(side)).rounded(.down)) * side
    let longest = maxSoftTokens * side
    if targetHeight == 0 && targetWidth == 0 {
      throw .vanishes(width: width, height: height, side: side)
    }
    if targetHeight == 0 {
      targetHeight = side
      targetWidth = min(width / height * side, longest)
    } else if targetWidth == 0 {
      targetWidth = side
      targetHeight = min(height / width * side, longest)
    }
    guard targetHeight * targetWidth <= budget else {
      throw .beyondBudget(width: targetWidth, height: targetHeight, pixelBudget: budget)
    }
    return (targetWidth, targetHeight)
  }

  /// Soft tokens of a picture of a target size.
  public func softTokenCount(targetWidth: Int, targetHeight: Int) -> Int {
    (targetWidth / cellSide) * (targetHeight / cellSide)
  }
}
