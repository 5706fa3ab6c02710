public import Foundation

/// Uncompressed media files: what goes in comes out bit for bit.
public enum PlainFiles {
  /// A 24-bit BMP of RGB rows.
  public static func bmp(_ pixels: [UInt8], width: Int, height: Int) -> Data {
    let rows = bottomUp(pixels, width: width, height: height)
    var data = Data("BM".utf8)
    data.add(UInt32(54 + rows.count))
    data.add(UInt32(0))
    data.add(UInt32(54))
    data.append(header(width, height, rows.count))
    data.append(rows)
    return data
  }

  /// An AVI of uncompressed frames, one a second.
  public static func avi(_ frames: [[UInt8]], width: Int, height: Int) -> Data {
    let pictures = frames.map { bottomUp($0, width: width, height: height) }
    let size = pictures.first?.count ?? 0
    var main = Data()
    let fields = [1_000_000, size, 0, 0x10, frames.count, 0, 1, size, width, height, 0, 0, 0, 0]
    for field in fields { main.add(UInt32(field)) }
    var stream = Data("vids".utf8) + Data("DIB ".utf8)
    for field in [0, 0, 0, 1, 1, 0, frames.count, size, 0, 0] { stream.add(UInt32(field)) }
    for field in [0, 0, width, height] { stream.add(UInt16(field)) }
    let lists = list("strl", chunk("strh", stream) + chunk("strf", header(width, height, size)))
    var movie = Data()
    var index = Data()
    for picture in pictures {
      index.append(contentsOf: "00db".utf8)
      for field in [0x10, movie.count + 4, picture.count] { index.add(UInt32(field)) }
      movie.append(chunk("00db", picture))
    }
    let body =
      list("hdrl", chunk("avih", main) + lists) + list("movi", movie) + chunk("idx1", index)
    var data = Data("RIFF".utf8)
    data.add(UInt32(body.count + 4))
    return data + Data("AVI ".utf8) + body
  }

  /// A mono WAV of 16-bit samples.
  public static func wav(_ samples: [Int16], rate: Int) -> Data {
    var format = Data()
    for field in [1, 1] { format.add(UInt16(field)) }
    for field in [rate, rate * 2] { format.add(UInt32(field)) }
    for field in [2, 16] { format.add(UInt16(field)) }
    var sound = Data()
    for sample in samples { sound.add(sample) }
    let body = chunk("fmt ", format) + chunk("data", sound)
    var data = Data("RIFF".utf8)
    data.add(UInt32(body.count + 4))
    return data + Data("WAVE".utf8) + body
  }

  private static func header(_ width: Int, _ height: Int, _ byteCount: Int) -> Data {
    var data = Data()
    for field in [40, width, height] { data.add(UInt32(field)) }
    for field in [1, 24] { data.add(UInt16(field)) }
    for field in [0, byteCount, 0, 0, 0, 0] { data.add(UInt32(field)) }
    return data
  }

  private static func chunk(_ name: String, _ content: Data) -> Data {
    var data = Data(name.utf8)
    data.add(UInt32(content.count))
    return data + content + Data(repeating: 0, count: content.count % 2)
  }

  private static func list(_ name: String, _ content: Data) -> Data {
    chunk("LIST", Data(name.utf8) + content)
  }

  /// BGR rows from the bottom, each padded to four bytes.
  private static func bottomUp(_ pixels: [UInt8], width: Int, height: Int) -> Data {
    var data = Data(capacity: pixels.count)
    for row in (0..<height).reversed() {
      for column in 0..<width {
        let pixel = (row * width + column) * 3
        data.append(contentsOf: [pixels[pixel + 2], pixels[pixel + 1], pixels[pixel]])
      }
      data.append(contentsOf: [UInt8](repeating: 0, count: (4 - width * 3 % 4) % 4))
    }
    return data
  }
}

extension Data {
  fileprivate mutating func add<Number: FixedWidthInteger>(_ number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}
