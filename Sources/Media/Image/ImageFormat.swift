/// The still-image formats that are read, told apart by content.
public enum ImageFormat: String, CaseIterable, Equatable, Sendable {
  /// JPEG, baseline and progressive.
  case jpeg = "JPEG"
  /// PNG.
  case png = "PNG"
  /// WebP, lossy and lossless.
  case webp = "WebP"
  /// GIF.
  case gif = "GIF"
  /// TIFF and BigTIFF.
  case tiff = "TIFF"
  /// Windows and OS/2 bitmaps.
  case bmp = "BMP"
  /// HEIF with HEVC pictures.
  case heic = "HEIC"
  /// HEIF with AV1 pictures.
  case avif = "AVIF"

  /// The formats for messages.
  static let expectation =
    "an image (\(allCases.map(\.rawValue).joined(separator: ", ")))"

  /// The format whose signature `bytes` start with, by content alone.
  public init?(signatureOf bytes: [UInt8]) {
    func starts(_ signature: [UInt8], at offset: Int = 0) -> Bool {
      bytes.count >= offset + signature.count
        && bytes[offset..<offset + signature.count].elementsEqual(signature)
    }
    if starts([0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if starts([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if starts(Array("RIFF".utf8)) && starts(Array("WEBP".utf8), at: 8) {
      self = .webp
    } else if starts(Array("GIF87a".utf8)) || starts(Array("GIF89a".utf8)) {
      self = .gif
    } else if starts([0x49, 0x49, 0x2A, 0]) || starts([0x4D, 0x4D, 0, 0x2A])
      || starts([0x49, 0x49, 0x2B, 0]) || starts([0x4D, 0x4D, 0, 0x2B])
    {
      self = .tiff
    } else if BMPReader.hasSignature(bytes) {
      self = .bmp
    } else if let format = Self.heif(brandsOf: bytes) {
      self = format
    } else {
      return nil
    }
  }

  /// The kind of HEIF file, by the brands of its `ftyp` box.
  private static func heif(brandsOf bytes: [UInt8]) -> ImageFormat? {
    guard bytes.count >= 16, bytes[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let size = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
    var brands: [String] = []
    for start in stride(from: 8, to: min(size, bytes.count, 256) - 3, by: 4) where start != 12 {
      brands.append(String(decoding: bytes[start..<start + 4], as: UTF8.self))
    }
    guard let major = brands.first else { return nil }
    if major == "avif" || major == "avis" { return .avif }
    let hevc = ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]
    if hevc.contains(major) { return .heic }
    guard major == "mif1" || major == "msf1" || major == "mif2" || major == "miaf" else {
      return nil
    }
    return brands.contains("avif") || brands.contains("avis") ? .avif : .heic
  }
}
