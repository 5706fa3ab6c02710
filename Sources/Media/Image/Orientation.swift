/// The eight EXIF orientations.
enum Orientation {
  /// `image` turned and mirrored so that it is shown upright.
  ///
  /// Source: EXIF 2.32, tag 0x0112.
  static func upright(_ image: RGBImage, orientation: Int) -> RGBImage {
    guard (2...8).contains(orientation) else { return image }
    let (width, height) = (image.width, image.height)
    let swaps = orientation >= 5
    let (outWidth, outHeight) = swaps ? (height, width) : (width, height)
    let (origin, stepX, stepY) = walk(orientation, width: width, height: height)
    let pixels = [UInt8](unsafeUninitializedCapacity: image.pixels.count) { out, filled in
      image.pixels.withUnsafeBufferPointer { source in
        var index = 0
        for y in 0..<outHeight {
          var from = (origin + y * stepY) * 3
          for _ in 0..<outWidth {
            out[index] = source[from]
            out[index + 1] = source[from + 1]
            out[index + 2] = source[from + 2]
            index += 3
            from += stepX * 3
          }
        }
      }
      filled = image.pixels.count
    }
    return RGBImage(width: outWidth, height: outHeight, pixels: pixels)
  }

  /// Where the shown top-left pixel is stored, and the steps to its right and lower neighbours.
  private static func walk(
    _ orientation: Int,
    width: Int,
    height: Int
  ) -> (origin: Int, stepX: Int, stepY: Int) {
    let (right, bottom) = (width - 1, (height - 1) * width)
    return switch orientation {
    case 2: (right, -1, width)
    case 3: (bottom + right, -1, -width)
    case 4: (bottom, 1, -width)
    case 5: (0, width, 1)
    case 6: (bottom, -width, 1)
    case 7: (bottom + right, -width, -1)
    default: (right, width, -1)
    }
  }
}
