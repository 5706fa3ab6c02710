import Foundation
public import Models

/// The fixed shapes that stages are timed in.
public struct BenchSuite: Hashable, Sendable {
  /// Columns and rows of a picture.
  public struct Size: Hashable, Sendable {
    /// Columns.
    public let width: Int
    /// Rows.
    public let height: Int

    /// The size as stages name it.
    var text: String { "\(width)x\(height)" }
  }

  /// What the suite is called.
  public let name: String
  /// Still pictures.
  public let images: [Size]
  /// Frames of clips.
  public let frames: [Size]
  /// Seconds of recordings.
  public let audioSeconds: [Int]
  /// Tokens of prefill batches.
  public let prefill: [Int]
  /// Positions in the context at which a token is decoded.
  public let depths: [Int]

  /// Reads a suite.
  ///
  /// - Throws: `JSONError` naming what does not fit.
  public init(_ node: JSONNode) throws(JSONError) {
    name = try node.member("name").string()
    images = try Self.sizes(node, "images")
    frames = try Self.sizes(node, "frames")
    audioSeconds = try Self.numbers(node, "audioSeconds", 1...30)
    prefill = try Self.numbers(node, "prefill", 2...1 << 20)
    depths = try Self.numbers(node, "depths", 0...1 << 24)
    let known: Set = ["name", "images", "frames", "audioSeconds", "prefill", "depths"]
    if let extra = try node.object().keys.first(where: { !known.contains($0) }) {
      throw node.mismatch("fields \(known.sorted().joined(separator: ", "))", came: extra)
    }
  }

  private static func numbers(
    _ node: JSONNode,
    _ key: String,
    _ range: ClosedRange<Int>
  ) throws(JSONError) -> [Int] {
    var numbers: [Int] = []
    for element in try node.member(key).elements() {
      numbers.append(try number(element, range))
    }
    return numbers
  }

  private static func sizes(_ node: JSONNode, _ key: String) throws(JSONError) -> [Size] {
    var sizes: [Size] = []
    for element in try node.member(key).elements() {
      let sides = try element.elements()
      guard sides.count == 2 else { throw element.mismatch("[width, height]") }
      sizes.append(
        Size(width: try number(sides[0], 1...16_384), height: try number(sides[1], 1...16_384))
      )
    }
    return sizes
  }

  private static func number(
    _ node: JSONNode,
    _ range: ClosedRange<Int>
  ) throws(JSONError) -> Int {
    let number = try node.integer()
    guard range.contains(number) else {
      throw node.mismatch("\(range.lowerBound) to \(range.upperBound)", came: "\(number)")
    }
    return number
  }
}
