/// Integer pixel arithmetic, value for value as Pillow does it.
enum Compositing {
  /// `level` with opacity `alpha` on white; both 0-255.
  ///
  /// Source: Pillow's `alpha_composite`.
  @inline(__always)
  static func onWhite(_ level: UInt8, alpha: UInt8) -> UInt8 {
    if alpha == 255 { return level }
    if alpha == 0 { return 255 }
    let opacity = UInt32(alpha)
    let sum = UInt32(level) * (opacity << 7) + 255 * ((255 - opacity) << 7) + (0x80 << 7)
    return UInt8(truncatingIfNeeded: (((sum >> 8) + sum) >> 8) >> 7)
  }

  /// The nearest 8-bit level of a 16-bit one.
  @inline(__always)
  static func to8Bits(_ level: UInt16) -> UInt8 {
    UInt8(truncatingIfNeeded: (UInt32(level) + 128) / 257)
  }

  /// One channel of CMYK in RGB, by formula.
  ///
  /// Source: Pillow's `cmyk2rgb`.
  @inline(__always)
  static func rgb(ink: UInt8, black: UInt8) -> UInt8 {
    let rest = 255 - Int32(black)
    let product = Int32(ink) * rest + 128
    let level = rest - (((product >> 8) + product) >> 8)
    return UInt8(truncatingIfNeeded: max(0, min(255, level)))
  }
}

/// How the samples of one stored pixel become RGB.
struct PixelLayout {
  /// 1 gray, 3 RGB, 4 CMYK.
  var colourBands: Int
  /// True when a band of opacity follows the colours.
  var hasAlpha: Bool
  /// Samples from one pixel to the next.
  var bands: Int

  /// Writes `count` pixels of 8-bit samples as RGB on white.
  func convert(
    _ input: UnsafePointer<UInt8>,
    count: Int,
    to output: UnsafeMutablePointer<UInt8>
  ) {
    if colourBands == 3 && bands == 3 {
      output.update(from: input, count: count * 3)
      return
    }
    for pixel in 0..<count {
      let from = input + pixel * bands
      let into = output + pixel * 3
      let alpha = hasAlpha ? from[colourBands] : 255
      switch colourBands {
      case 1:
        let level = Compositing.onWhite(from[0], alpha: alpha)
        into[0] = level
        into[1] = level
        into[2] = level
      case 3:
        for channel in 0..<3 {
          into[channel] = Compositing.onWhite(from[channel], alpha: alpha)
        }
      default:
        for channel in 0..<3 {
          let level = Compositing.rgb(ink: from[channel], black: from[3])
          into[channel] = Compositing.onWhite(level, alpha: alpha)
        }
      }
    }
  }
}
