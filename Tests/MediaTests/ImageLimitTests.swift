import Foundation
import Media
import Testing

@Suite struct ImageLimitTests {
  /// A PNG header for a size, with hardly any data behind it.
  static func png(width: UInt32, height: UInt32) -> [UInt8] {
    func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
    func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
      let body = Array(name.utf8) + data
      return big(UInt32(data.count)) + body + big(CRC32.of(body))
    }
    let header = big(width) + big(height) + [8, 2, 0, 0, 0]
    let data: [UInt8] = [0x78, 0x9C, 0x63, 0, 0, 0, 1, 0, 1]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunk("IDAT", data) + chunk("IEND", [])
  }

  @Test func sizesAreRefusedFromTheHeader() throws {
    #expect(
      throws: MediaError.tooManyPixels(
        path: "x",
        width: 100_000,
        height: 90_000,
        limit: 178_956_970
      )
    ) {
      try ImageFile.decode(bytes: Self.png(width: 100_000, height: 90_000), name: "x")
    }
    let small = ImageLimits(pixelCount: 100)
    for file in ["rgba-ramp.png", "lzw.tiff", "hopper.avif", "rle8.bmp", "blocks-animated.webp"] {
      let path = Fixtures.path("images/\(file)")
      let error = try #require(throws: MediaError.self) {
        try ImageFile.decode(path: path, limits: small)
      }
      #expect(error.description.contains("at most 100 pixels"), "\(error)")
    }
    let tiny = ImageLimits(pixelCount: 100, byteCount: 10)
    #expect(throws: MediaError.self) {
      try ImageFile.decode(path: Fixtures.path("images/rgb24.bmp"), limits: tiny)
    }
  }

  @Test func damageIsRefusedOrSaid() throws {
    #expect(throws: MediaError.self) {
      try ImageFile.decode(bytes: Self.png(width: 300, height: 200), name: "x")
    }
    let cut = try ImageFile.decode(path: Fixtures.path("images/truncated.jpg"))
    #expect(cut.warnings.count == 1)
    for file in ["interlaced.png", "lossless.webp", "lzw.tiff", "rgb24.bmp", "rgba-ramp.png"] {
      let data = try Data(contentsOf: URL(fileURLWithPath: Fixtures.path("images/\(file)")))
      let half = [UInt8](data.prefix(data.count / 2))
      #expect(throws: MediaError.self, "\(file)") {
        try ImageFile.decode(bytes: half, name: file)
      }
    }
  }

  @Test func sixteenBitsAreScaled() throws {
    // The stored values are those of a gradient from white to black over 3000 rows.
    let image = try ImageFile.decode(path: Fixtures.path("images/extreme-tall-6x3000.png")).image
    #expect(image.pixels.first == 255 && image.pixels.last == 0)
    for row in 0..<3000 {
      let level = 65535 - (Double(row) * 65535 / 2999)
      #expect(abs(Double(image.pixels[row * 18]) - level / 257) <= 0.52)
    }
  }

  @Test func profilesAreConverted() throws {
    let adobe = try ImageFile.decode(path: Fixtures.path("images/adobe-rgb-icc.jpg"))
    #expect(adobe.profile == .converted && adobe.warnings.isEmpty)
    let plain = try ImageFile.decode(path: Fixtures.path("images/exif-orientation-1.jpg"))
    #expect(plain.profile == .none)
  }

  @Test func orientationsShowTheSamePicture() throws {
    for orientation in [1, 3, 6, 8] {
      let decoded = try ImageFile.decode(
        path: Fixtures.path("images/exif-orientation-\(orientation).jpg")
      )
      #expect(decoded.orientation == orientation)
      let image = decoded.image
      #expect((image.width, image.height) == (320, 200))
      let corners = [(4, 4), (315, 4), (4, 195), (315, 195)].map { x, y in
        let at = (y * 320 + x) * 3
        return image.pixels[at..<at + 3].map { $0 > 100 }
      }
      let red = [true, false, false]
      #expect(corners[0] == red && corners[2] == [false, false, true])
      #expect(corners[3] == [true, true, false])
    }
  }
}
