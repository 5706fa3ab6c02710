/// Windows and OS/2 bitmaps: 1, 4, 8, 16, 24 and 32 bits, RLE4 and RLE8, colour masks.
struct BMPReader {
  let bytes: [UInt8]
  let name: String

  /// What the headers say.
  struct Header {
    var width = 0
    var height = 0
    var isTopDown = false
    var bits = 0
    var compression = 0
    var dataStart = 0
    var palette: [(UInt8, UInt8, UInt8)] = []
    /// Red, green, blue and alpha masks; an alpha mask of 0 means opaque.
    var masks: [UInt32] = [0, 0, 0, 0]
  }

  /// True when `bytes` start with a bitmap's file and information headers.
  static func hasSignature(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 18, bytes[0] == 0x42, bytes[1] == 0x4D else { return false }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(bytes[14])
      && bytes[15] == 0 && bytes[16] == 0 && bytes[17] == 0
  }

  func decode(limits: ImageLimits) throws(MediaError) -> DecodedImage {
    let header = try readHeader(limits: limits)
    var pixels: [UInt8]
    var warnings: [String] = []
    switch header.compression {
    case 1, 2:
      let run = BMPRunLength(
        width: header.width,
        height: header.height,
        nibbles: header.compression == 2
      )
      let (indices, complete) = run.expand(bytes, from: header.dataStart)
      guard let indices else { throw damaged("its data ends before the first pixel") }
      if !complete { warnings.append("truncated BMP, what is missing has the first colour") }
      pixels = [UInt8](repeating: 0, count: indices.count * 3)
      for (place, index) in indices.enumerated() {
        let (red, green, blue) = colour(Int(index), header)
        pixels[3 * place] = red
        pixels[3 * place + 1] = green
        pixels[3 * place + 2] = blue
      }
    default:
      pixels = try readRows(header)
    }
    if !header.isTopDown { flip(&pixels, rowBytes: header.width * 3) }
    return DecodedImage(
      image: RGBImage(width: header.width, height: header.height, pixels: pixels),
      format: .bmp,
      storedWidth: header.width,
      storedHeight: header.height,
      orientation: 1,
      frameCount: 1,
      profile: .none,
      warnings: warnings
    )
  }

  // MARK: Headers

  private func readHeader(limits: ImageLimits) throws(MediaError) -> Header {
    guard bytes.count >= 26 else { throw damaged("it ends inside the header") }
    let size = number(14, 4)
    guard bytes.count >= 14 + size else { throw damaged("it ends inside the header") }
    var header = Header()
    header.dataStart = number(10, 4)
    if size == 12 {
      header.width = number(18, 2)
      header.height = number(20, 2)
      header.bits = number(24, 2)
    } else {
      guard bytes.count >= 30 else { throw damaged("it ends inside the header") }
      header.width = Int(Int32(truncatingIfNeeded: number(18, 4)))
      let height = Int(Int32(truncatingIfNeeded: number(22, 4)))
      header.isTopDown = height < 0
      header.height = abs(height)
      header.bits = number(28, 2)
      header.compression = size >= 40 ? number(30, 4) : 0
    }
    guard header.width > 0, header.height > 0 else { throw damaged("it has no pixels") }
    guard header.width * header.height <= limits.pixelCount else {
      throw .tooManyPixels(
        path: name,
        width: header.width,
        height: header.height,
        limit: limits.pixelCount
      )
    }
    try checkEncoding(header)
    try readMasks(&header, size: size)
    readPalette(&header, size: size)
    return header
  }

  private func checkEncoding(_ header: Header) throws(MediaError) {
    let known =
      switch (header.compression, header.bits) {
      case (0, 1), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): true
      case (1, 8), (2, 4), (3, 16), (3, 32), (6, 16), (6, 32): true
      default: false
      }
    guard known else {
      throw .unsupported(
        path: name,
        format: "BMP",
        reason: "it has \(header.bits) bits a pixel and compression \(header.compression)"
      )
    }
  }

  private func readMasks(_ header: inout Header, size: Int) throws(MediaError) {
    if header.compression == 3 || header.compression == 6 {
      let count = size >= 56 || header.compression == 6 ? 4 : 3
      guard bytes.count >= 54 + 4 * count else { throw damaged("it ends inside the header") }
      for index in 0..<count { header.masks[index] = UInt32(number(54 + 4 * index, 4)) }
    } else if header.bits == 16 {
      header.masks = [0x7C00, 0x03E0, 0x001F, 0]
    } else {
      header.masks = [0xFF_0000, 0xFF00, 0xFF, 0]
    }
  }

  private func readPalette(_ header: inout Header, size: Int) {
    guard header.bits <= 8 else { return }
    let entry = size == 12 ? 3 : 4
    let stated = size >= 40 ? number(46, 4) : 0
    let count = stated > 0 ? min(stated, 256) : 1 << header.bits
    for index in 0..<count {
      let start = 14 + size + entry * index
      guard start + 3 <= bytes.count, start < header.dataStart else { break }
      header.palette.append((bytes[start + 2], bytes[start + 1], bytes[start]))
    }
  }

  // MARK: Pixels

  private func readRows(_ header: Header) throws(MediaError) -> [UInt8] {
    let stride = (header.width * header.bits + 31) / 32 * 4
    let (end, overflow) = header.dataStart.addingReportingOverflow(stride * header.height)
    // The padding of the last row may be missing.
    let needed = end - stride + (header.width * header.bits + 7) / 8
    guard !overflow, needed <= bytes.count else {
      throw damaged("it has \(bytes.count) bytes, its header needs \(needed)")
    }
    var pixels = [UInt8](repeating: 0, count: header.width * header.height * 3)
    let channels = header.masks.map(BMPChannel.init)
    var out = 0
    for row in 0..<header.height {
      let start = header.dataStart + row * stride
      for x in 0..<header.width {
        let (red, green, blue) = pixel(header, channels, start: start, x: x)
        pixels[out] = red
        pixels[out + 1] = green
        pixels[out + 2] = blue
        out += 3
      }
    }
    return pixels
  }

  @inline(__always)
  private func pixel(
    _ header: Header,
    _ channels: [BMPChannel],
    start: Int,
    x: Int
  ) -> (UInt8, UInt8, UInt8) {
    switch header.bits {
    case 24:
      let at = start + 3 * x
      return (bytes[at + 2], bytes[at + 1], bytes[at])
    case 16, 32:
      let size = header.bits / 8
      let value = UInt32(truncatingIfNeeded: number(start + size * x, size))
      let alpha = channels[3].mask == 0 ? 255 : channels[3].level(value)
      return (
        Compositing.onWhite(channels[0].level(value), alpha: alpha),
        Compositing.onWhite(channels[1].level(value), alpha: alpha),
        Compositing.onWhite(channels[2].level(value), alpha: alpha)
      )
    default:
      let bit = x * header.bits
      let shift = 8 - header.bits - bit % 8
      let index = Int(bytes[start + bit / 8]) >> shift & ((1 << header.bits) - 1)
      return colour(index, header)
    }
  }

  /// Entry `index` of the palette; black where there is none.
  private func colour(_ index: Int, _ header: Header) -> (UInt8, UInt8, UInt8) {
    index < header.palette.count ? header.palette[index] : (0, 0, 0)
  }

  private func flip(_ pixels: inout [UInt8], rowBytes: Int) {
    var (top, bottom) = (0, pixels.count - rowBytes)
    while top < bottom {
      for offset in 0..<rowBytes { pixels.swapAt(top + offset, bottom + offset) }
      top += rowBytes
      bottom -= rowBytes
    }
  }

  /// The little-endian number of `size` bytes at `offset`, which the caller has checked.
  @inline(__always)
  private func number(_ offset: Int, _ size: Int) -> Int {
    var value = 0
    for index in 0..<size { value |= Int(bytes[offset + index]) << (8 * index) }
    return value
  }

  private func damaged(_ reason: String) -> MediaError {
    .damaged(path: name, format: "BMP", reason: reason)
  }
}

/// One colour of a masked bitmap.
struct BMPChannel {
  let mask: UInt32

  init(_ mask: UInt32) { self.mask = mask }

  /// The channel of `value`, scaled to 0-255 and rounded down.
  @inline(__always)
  func level(_ value: UInt32) -> UInt8 {
    guard mask != 0 else { return 0 }
    let shift = UInt32(mask.trailingZeroBitCount)
    let largest = UInt64(mask >> shift)
    return UInt8(truncatingIfNeeded: UInt64((value & mask) >> shift) * 255 / largest)
  }
}

/// The run-length codes of bitmaps.
struct BMPRunLength {
  let width: Int
  let height: Int
  /// RLE4 instead of RLE8.
  let nibbles: Bool

  /// Palette indices, bottom row first, and whether the data reached its end mark.
  ///
  /// Without a single code there are no indices.
  func expand(_ bytes: [UInt8], from start: Int) -> (indices: [UInt8]?, complete: Bool) {
    guard start + 2 <= bytes.count else { return (nil, false) }
    var indices = [UInt8](repeating: 0, count: width * height)
    var (x, y, position) = (0, 0, start)
    func put(_ index: UInt8) {
      if x < width && y < height { indices[y * width + x] = index }
      x += 1
    }
    while position + 2 <= bytes.count {
      let (count, value) = (Int(bytes[position]), bytes[position + 1])
      position += 2
      if count > 0 {
        for step in 0..<count { put(nibbles ? (step % 2 == 0 ? value >> 4 : value & 15) : value) }
        continue
      }
      switch value {
      case 0: (x, y) = (0, y + 1)
      case 1: return (indices, true)
      case 2:
        guard position + 2 <= bytes.count else { return (indices, false) }
        x += Int(bytes[position])
        y += Int(bytes[position + 1])
        position += 2
      default:
        let length = Int(value)
        let stored = nibbles ? (length + 1) / 2 : length
        guard position + stored <= bytes.count else { return (indices, false) }
        for step in 0..<length {
          let byte = bytes[position + (nibbles ? step / 2 : step)]
          put(nibbles ? (step % 2 == 0 ? byte >> 4 : byte & 15) : byte)
        }
        position += (stored + 1) & ~1
      }
    }
    return (indices, y >= height || (y == height - 1 && x >= width))
  }
}
