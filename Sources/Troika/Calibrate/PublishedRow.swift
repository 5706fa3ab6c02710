import Graph
import Models

/// A published measurement of a model split over the units of a device.
public struct PublishedRow: Sendable {
  /// What a row is for.
  public enum Use: String, Hashable, Sendable {
    /// Profiles are fitted to it.
    case fit
    /// A known fact that a fitted profile has to reproduce.
    case replay
    /// For orientation.
    case context
  }

  /// The device.
  public let device: String
  /// The unit, or several joined by `+`, `||` or `->`.
  public let unit: String
  /// What was measured, in words.
  public let what: String
  /// What it is for.
  public let use: Use
  /// Where it was published.
  public let source: String
  let node: JSONNode

  /// All rows of a file.
  ///
  /// - Throws: `FileError` or `JSONError` naming the file and the key.
  public static func read(path: String) throws -> [PublishedRow] {
    let document = try JSONNode(file: path)
    let devices = try document.member("devices")
    return try devices.object().keys.flatMap { device in
      try devices.elements(device).map { try PublishedRow($0, device: device) }
    }
  }

  private init(_ node: JSONNode, device: String) throws(JSONError) {
    self.node = node
    self.device = device
    unit = try node.string("unit")
    what = try node.string("what")
    source = try node.string("source", or: "")
    let use = try node.string("use")
    guard let known = Use(rawValue: use) else {
      throw try node.member("use").mismatch("fit, replay or context", came: use)
    }
    self.use = known
  }

  /// A member as numbers; one number counts as a list of one.
  func numbers(_ key: String) throws(JSONError) -> [Double] {
    guard let member = try node.optional(key) else { return [] }
    if member.value.double != nil { return [try member.double()] }
    guard member.value.array != nil else { return [] }
    var numbers: [Double] = []
    for element in try member.elements() { numbers.append(try element.double()) }
    return numbers
  }

  /// The first number behind a word of the description: `N=512`, `10 real`.
  func number(before word: String) -> Int? {
    let words = what.split { !$0.isLetter && !$0.isNumber && $0 != "=" }.map(String.init)
    for (index, found) in words.enumerated() where found == word && index > 0 {
      return Int(words[index - 1])
    }
    return nil
  }
}

/// One number that a profile is held to.
struct PublishedCheck: Sendable {
  /// What the number is of.
  let label: String
  let row: PublishedRow
  /// The published number, or its range.
  let published: ClosedRange<Double>
  /// What a profile says, in the same unit of measure.
  let predict: @Sendable (DeviceProfile) -> Double

  /// The relative error of a prediction: 0 inside a range.
  func error(_ prediction: Double) -> Double {
    if published.contains(prediction) { return 0 }
    let nearest = prediction < published.lowerBound ? published.lowerBound : published.upperBound
    return nearest == 0 ? prediction : prediction / nearest - 1
  }
}

extension PublishedRow {
  /// A number of this row that a profile predicts.
  func check(
    _ label: String,
    _ published: Double,
    predict: @escaping @Sendable (DeviceProfile) -> Double
  ) -> PublishedCheck {
    check(label, published...published, predict: predict)
  }

  /// A range of this row that a profile's prediction lies in.
  func check(
    _ label: String,
    _ published: ClosedRange<Double>,
    predict: @escaping @Sendable (DeviceProfile) -> Double
  ) -> PublishedCheck {
    PublishedCheck(label: label, row: self, published: published, predict: predict)
  }
}
