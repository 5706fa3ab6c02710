import Foundation

/// Media files of smooth content, as plain as their formats allow.
enum MadeUpMedia {
  /// A picture of 24 bits.
  static func bmp(_ width: Int, _ height: Int) -> Data {
    let stride = (width * 3 + 3) / 4 * 4
    var data = Data("BM".utf8)
    let size = stride * height
    data.add(UInt32(54 + size), 0, 54, 40, UInt32(width), UInt32(height), 1 | 24 << 16, 0)
    data.add(UInt32(size), 0, 0, 0, 0)
    for row in 0..<height {
      var line = [UInt8](repeating: 0, count: stride)
      for column in 0..<width * 3 { line[column] = level(column / 3 + column % 3 * 40, row) }
      data.append(contentsOf: line)
    }
    return data
  }

  /// A clip of a frame a second.
  static func y4m(_ width: Int, _ height: Int, _ frames: Int) -> Data {
    var data = Data("YUV4MPEG2 W\(width) H\(height) F1:1 Ip A1:1 C420jpeg\n".utf8)
    let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
    for frame in 0..<frames {
      data.append(contentsOf: "FRAME\n".utf8)
      for row in 0..<height {
        data.append(contentsOf: (0..<width).map { level($0 + frame * 8, row) })
      }
      data.append(contentsOf: [UInt8](repeating: 110, count: halfWidth * halfHeight))
      data.append(contentsOf: [UInt8](repeating: 150, count: halfWidth * halfHeight))
    }
    return data
  }

  /// A chord of two tones at 16 kHz.
  static func wav(seconds: Int) -> Data {
    let rate = 16_000
    let count = seconds * rate
    var data = Data("RIFF".utf8)
    data.add(UInt32(36 + count * 2))
    data.append(contentsOf: "WAVEfmt ".utf8)
    data.add(UInt32(16), 1 | 1 << 16, UInt32(rate), UInt32(rate * 2), 2 | 16 << 16)
    data.append(contentsOf: "data".utf8)
    data.add(UInt32(count * 2))
    let samples = (0..<count).map { index in
      let time = Double(index) / Double(rate)
      return Int16(9000 * (sin(time * 2764.6) + sin(time * 4146.9) / 2)).littleEndian
    }
    samples.withUnsafeBytes { data.append(contentsOf: $0) }
    return data
  }

  /// Waves of different lengths along both sides.
  private static func level(_ column: Int, _ row: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: 128 + (column * 3 / 2 ^ row) % 97 + (column + row) / 16 % 31)
  }
}

extension Data {
  fileprivate mutating func add<Number: FixedWidthInteger>(_ numbers: Number...) {
    for number in numbers {
      Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
  }
}
