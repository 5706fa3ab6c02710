/// The little of JPEG's structure that decides whether a damaged file shows anything.
struct JPEGStructure {
  /// True when entropy-coded data follows a start-of-scan header.
  let hasScanData: Bool

  init(_ bytes: [UInt8]) {
    var position = 2
    while position + 4 <= bytes.count, bytes[position] == 0xFF {
      let marker = bytes[position + 1]
      if marker == 0xFF {
        position += 1
        continue
      }
      let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
      if marker == 0xDA {
        hasScanData = bytes.count > position + 2 + length + 64
        return
      }
      position += 2 + max(2, length)
    }
    hasScanData = false
  }
}
