/// How 8-bit levels become the encoder's floats.
public enum PixelScale: Sendable {
  /// `level * (1/255)`, as still images.
  case image
  /// `level / 255`, as video frames.
  case video
}

/// A picture cut into patches for the vision encoder, without padding.
public struct Patches: Equatable, Sendable {
  /// Number of patches `n`.
  public let count: Int
  /// Patches along the picture's width.
  public let columns: Int
  /// Patches along the picture's height.
  public let rows: Int
  /// Values per patch: `3 * patchSize * patchSize`.
  public let valuesPerPatch: Int
  /// Levels 0-255.
  ///
  /// Shape `[n, 3 p p]`: patches row-major, in a patch row, column, channel.
  public let levels: [UInt8]
  /// Shape `[n, 2]`: column (x), then row (y) of each patch.
  public let positions: [Int32]
  /// Soft tokens after pooling.
  public let softTokenCount: Int

  /// Cuts a picture whose sides are multiples of the geometry's cell.
  ///
  /// - Precondition: both sides are multiples of `geometry.cellSide`.
  public init(_ image: RGBImage, geometry: ImageGeometry) {
    let size = geometry.patchSize
    precondition(
      image.width.isMultiple(of: geometry.cellSide)
        && image.height.isMultiple(of: geometry.cellSide)
    )
    columns = image.width / size
    rows = image.height / size
    count = columns * rows
    valuesPerPatch = 3 * size * size
    softTokenCount = geometry.softTokenCount(
      targetWidth: image.width,
      targetHeight: image.height
    )
    levels = Self.cut(image, size: size)
    var positions: [Int32] = []
    positions.reserveCapacity(2 * count)
    for y in 0..<rows {
      for x in 0..<columns {
        positions.append(Int32(x))
        positions.append(Int32(y))
      }
    }
    self.positions = positions
  }

  private static func cut(_ image: RGBImage, size: Int) -> [UInt8] {
    let (rowBytes, patchBytes) = (image.width * 3, size * 3)
    return [UInt8](unsafeUninitializedCapacity: image.pixels.count) { output, filled in
      image.pixels.withUnsafeBufferPointer { source in
        guard let into = output.baseAddress, let from = source.baseAddress else { return }
        for top in stride(from: 0, to: image.height, by: size) {
          for left in stride(from: 0, to: rowBytes, by: patchBytes) {
            for row in top..<top + size {
              (into + filled).update(from: from + row * rowBytes + left, count: patchBytes)
              filled += patchBytes
            }
          }
        }
      }
    }
  }

  /// The values for the encoder, 0...1.
  ///
  /// Shape `[n, 3 p p]`, float32.
  public func pixelValues(_ scale: PixelScale = .image) -> [Float] {
    let table = (0...255).map { level in
      scale == .image ? Float(level) * (1 / 255 as Float) : Float(level) / 255
    }
    return levels.map { table[Int($0)] }
  }
}

/// The whole way from a picture to patches.
public struct ImagePreprocessor: Sendable {
  /// Sizes and budget.
  public let geometry: ImageGeometry
  /// Whose fixed-point weights.
  public let backend: ResizeBackend

  /// Sets both.
  public init(geometry: ImageGeometry = .e2bImage, backend: ResizeBackend = .torchvision) {
    self.geometry = geometry
    self.backend = backend
  }

  /// `image` in the size that the encoder takes.
  ///
  /// - Throws: `GeometryError` where no size fits.
  public func resized(_ image: RGBImage) throws(GeometryError) -> RGBImage {
    let target = try geometry.target(width: image.width, height: image.height)
    return Resize.bicubic(image, width: target.width, height: target.height, backend: backend)
  }

  /// `image` resized and cut into patches.
  ///
  /// - Throws: `GeometryError` where no size fits.
  public func patches(_ image: RGBImage) throws(GeometryError) -> Patches {
    Patches(try resized(image), geometry: geometry)
  }
}
