public import Foundation

/// A question to the demo model with the reference implementation's answer.
public struct DemoItem: Decodable, Sendable, CustomStringConvertible {
  /// What names the item.
  public let id: String
  /// `image`, `sound`, `clip`, `mixture` or `text`.
  public let modality: String
  /// The kind of question.
  public let type: String
  /// The user's words.
  public let question: String
  /// The reference's answer.
  public let answer: String
  /// Its ids.
  public let tokens: [Int]
  /// Ids of the prompt, media included.
  public let promptTokens: Int
  /// What is shown, in order.
  public let media: [DemoScene]

  /// The item's name and question.
  public var description: String { "\(id) \(question)" }

  /// The items of a file of one JSON object a line.
  ///
  /// - Throws: where the file cannot be read.
  public static func read(_ url: URL) throws -> [DemoItem] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map {
      try decoder.decode(DemoItem.self, from: Data($0.utf8))
    }
  }
}

/// A picture, clip or sound by its description, drawn with whole numbers only.
public struct DemoScene: Decodable, Sendable {
  /// A shape of one colour.
  struct Item: Decodable, Sendable {
    let shape: String
    let rgb: [Int]
    let x: Int
    let y: Int
    let radius: Int
  }

  /// A tone.
  struct Beep: Decodable, Sendable {
    let hertz: Int
    let at: Int
    let length: Int
  }

  /// `picture`, `clip` or `sound`.
  public let kind: String
  /// SHA-256 of the pixels of each frame, or of the samples.
  public let sha256: [String]
  let columns: Int?
  let rows: Int?
  let scale: Int?
  let backgroundRgb: [Int]?
  let objects: [Item]?
  let centres: [[Int]]?
  let samples: Int?
  let loudness: Int?
  let noise: Int?
  let noiseSeed: Int?
  let beeps: [Beep]?

  /// Pixels of one soft token at the model's resolution.
  private static let token = 12

  /// Width and height of a picture, pixels.
  public var size: (width: Int, height: Int) {
    let unit = Self.token * (scale ?? 1)
    return ((columns ?? 0) * unit, (rows ?? 0) * unit)
  }

  /// Frames of a clip; 1 for a picture.
  public var frameCount: Int { centres?.count ?? 1 }

  /// RGB rows of a frame.
  ///
  /// A pixel belongs to a shape when its centre does.
  public func pixels(frame: Int = 0) -> [UInt8] {
    let (width, height) = size
    let background = (backgroundRgb ?? []).map { UInt8($0) }
    var pixels = (0..<width * height).flatMap { _ in background }
    for (index, item) in (objects ?? []).enumerated() {
      let moved = index == 0 ? centres?[frame] : nil
      let unit = scale ?? 1
      let (x, y, r) = (
        (moved?[0] ?? item.x) * unit, (moved?[1] ?? item.y) * unit, item.radius * unit
      )
      for row in max(0, y - r)..<max(max(0, y - r), min(height, y + r)) {
        for column in max(0, x - r)..<max(max(0, x - r), min(width, x + r))
        where Self.contains(item.shape, 2 * column + 1 - 2 * x, 2 * row + 1 - 2 * y, r) {
          for channel in 0..<3 {
            pixels[(row * width + column) * 3 + channel] = UInt8(item.rgb[channel])
          }
        }
      }
    }
    return pixels
  }

  /// Whether a shape holds a point given by twice its distance from the centre.
  private static func contains(_ shape: String, _ dx: Int, _ dy: Int, _ r: Int) -> Bool {
    switch shape {
    case "circle": dx * dx + dy * dy <= 4 * r * r
    case "square": 8 * abs(dx) <= 14 * r && 8 * abs(dy) <= 14 * r
    default: 2 * abs(dx) <= dy + 2 * r
    }
  }

  /// 16-bit samples at 16 kHz: parabolas for half periods, faded in and out over 80 samples.
  public func sound() -> [Int16] {
    var wave = [Int](repeating: 0, count: samples ?? 0)
    for beep in beeps ?? [] {
      for n in 0..<beep.length {
        let phase = n * (beep.hertz * 65_536 / 16_000) & 65_535
        let half = phase & 32_767
        let arch = (half * (32_768 - half)) >> 13
        let level = min(n, beep.length - 1 - n, 80) * (loudness ?? 0) / 80
        let value = (arch * level) >> 15
        wave[beep.at + n] = phase < 32_768 ? value : -value
      }
    }
    if let size = noise, size > 0 {
      for index in wave.indices {
        wave[index] += Self.noise(UInt64(noiseSeed ?? 0), UInt64(index), size)
      }
    }
    return wave.map { Int16($0) }
  }

  private static func noise(_ seed: UInt64, _ index: UInt64, _ size: Int) -> Int {
    let mask: UInt64 = 0xFFFF_FFFF
    var z = (index &* 2_654_435_761 &+ seed) & mask
    z = ((z ^ (z >> 16)) &* 0x45D_9F3B) & mask
    z = ((z ^ (z >> 16)) &* 0x45D_9F3B) & mask
    z ^= z >> 16
    return Int((z &* UInt64(2 * size + 1)) >> 32) - size
  }
}
