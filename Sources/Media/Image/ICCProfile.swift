internal import Glibc

/// The parts of an ICC profile that tell what it is for and whether it is sRGB.
///
/// Source: ICC.1:2010, sections 7 and 10.
struct ICCProfile {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// True when the profile's device space has that many colours.
  func fits(colourBands: Int) -> Bool {
    switch text(at: 16) {
    case "GRAY": colourBands == 1
    case "RGB ": colourBands == 3
    case "CMYK": colourBands == 4
    default: false
    }
  }

  /// True when primaries and transfer curves are those of sRGB within what 8 bits can show.
  var isSRGB: Bool {
    guard text(at: 16) == "RGB ", !hasTag("A2B0") else { return false }
    let primaries: [(String, [Double])] = [
      ("rXYZ", [0.4361, 0.2225, 0.0139]), ("gXYZ", [0.3851, 0.7169, 0.0971]),
      ("bXYZ", [0.1431, 0.0606, 0.7141]),
    ]
    for (tag, expected) in primaries {
      guard let start = offset(of: tag), text(at: start) == "XYZ " else { return false }
      for (index, value) in expected.enumerated() {
        guard let found = fixed(at: start + 8 + 4 * index), abs(found - value) < 0.003 else {
          return false
        }
      }
    }
    return ["rTRC", "gTRC", "bTRC"].allSatisfy(hasSRGBCurve)
  }

  private func hasSRGBCurve(_ tag: String) -> Bool {
    guard let start = offset(of: tag) else { return false }
    for step in 0...16 {
      let x = Double(step) / 16
      let expected = x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4)
      guard let found = curve(at: start, x), abs(found - expected) < 0.002 else { return false }
    }
    return true
  }

  /// The value of the curve element at `start` for `x` in 0...1.
  private func curve(at start: Int, _ x: Double) -> Double? {
    switch text(at: start) {
    case "curv": sampledCurve(at: start, x)
    case "para": parametricCurve(at: start, x)
    default: nil
    }
  }

  private func sampledCurve(at start: Int, _ x: Double) -> Double? {
    guard let count = number(at: start + 8, size: 4) else { return nil }
    if count == 0 { return x }
    if count == 1 { return number(at: start + 12, size: 2).map { pow(x, Double($0) / 256) } }
    let position = x * Double(count - 1)
    let index = min(Int(position), count - 2)
    guard let low = number(at: start + 12 + 2 * index, size: 2),
      let high = number(at: start + 14 + 2 * index, size: 2)
    else { return nil }
    let part = position - Double(index)
    return (Double(low) * (1 - part) + Double(high) * part) / 65535
  }

  private func parametricCurve(at start: Int, _ x: Double) -> Double? {
    guard let kind = number(at: start + 8, size: 2), kind <= 4 else { return nil }
    let counts = [1, 3, 4, 5, 7]
    var values: [Double] = []
    for index in 0..<counts[kind] {
      guard let value = fixed(at: start + 12 + 4 * index) else { return nil }
      values.append(value)
    }
    let gamma = values[0]
    if kind == 0 { return pow(x, gamma) }
    let (a, b) = (values[1], values[2])
    switch kind {
    case 1: return a * x + b >= 0 ? pow(a * x + b, gamma) : 0
    case 2: return a * x + b >= 0 ? pow(a * x + b, gamma) + values[3] : values[3]
    case 3: return x >= values[4] ? pow(a * x + b, gamma) : values[3] * x
    default:
      return x >= values[4] ? pow(a * x + b, gamma) + values[5] : values[3] * x + values[6]
    }
  }

  private func hasTag(_ name: String) -> Bool { offset(of: name) != nil }

  private func offset(of name: String) -> Int? {
    guard let count = number(at: 128, size: 4) else { return nil }
    for index in 0..<min(count, 100) where text(at: 132 + 12 * index) == name {
      return number(at: 136 + 12 * index, size: 4)
    }
    return nil
  }

  private func text(at offset: Int) -> String {
    guard offset >= 0, offset + 4 <= bytes.count else { return "" }
    return String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  private func number(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, offset + size <= bytes.count else { return nil }
    return bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) }
  }

  /// A signed 15.16 fixed-point number.
  private func fixed(at offset: Int) -> Double? {
    number(at: offset, size: 4).map {
      Double(Int32(truncatingIfNeeded: $0)) / 65536
    }
  }
}
