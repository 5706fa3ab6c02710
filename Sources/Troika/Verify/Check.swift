/// One comparison of something computed with its golden.
public struct Check: Hashable, Sendable {
  /// The stage, named for a file of the set.
  public let stage: String
  /// The case and what of it was compared.
  public let name: String
  /// Largest absolute difference, where numbers were compared.
  public var maxAbsolute: Double?
  /// Largest difference relative to the golden's magnitude.
  public var maxRelative: Double?
  /// Smallest cosine of a row with its golden.
  public var minCosine: Double?
  /// What is allowed, in words.
  public let tolerance: String
  /// Whether it holds.
  public let holds: Bool
  /// Whether it counts: what quantised weights move is only printed, but for its own gate.
  public var isGated = true
  /// What else there is to say, for example the first divergence.
  public var detail: String = ""

  /// A comparison of things that have to be equal.
  public static func exact(
    _ stage: String,
    _ name: String,
    _ holds: Bool,
    _ detail: @autoclosure () -> String = ""
  ) -> Check {
    Check(
      stage: stage,
      name: name,
      tolerance: "equal",
      holds: holds,
      detail: holds ? "" : detail()
    )
  }
}

/// How close numbers have to be to their goldens; one table for the whole project.
public struct Tolerance: Hashable, Sendable {
  /// Largest absolute difference allowed; nil where only directions count.
  public let absolute: Double?
  /// Smallest cosine allowed of each row.
  public let cosine: Double?

  /// Bounds of each kind of value on units that compute in f32.
  public static let mel = Tolerance(absolute: 2e-3, cosine: nil)
  /// Towers, inner stages and features.
  public static let encoder = Tolerance(absolute: 1e-3, cosine: nil)
  /// Features of images and sound, per token.
  public static let features = Tolerance(absolute: 1e-3, cosine: 0.99999)
  /// Hidden states and logits of the decoder.
  public static let decoder = Tolerance(absolute: 1e-2, cosine: nil)
  /// Features on units that store fp16.
  public static let halfFeatures = Tolerance(absolute: nil, cosine: 0.9995)
  /// Hidden states on units that store fp16.
  public static let halfHidden = Tolerance(absolute: nil, cosine: 0.999)
  /// Logits on units that store fp16; the cosine is a correlation.
  public static let halfLogits = Tolerance(absolute: 1, cosine: 0.999)

  /// Mean correlation of logits over positions on int8 weights.
  static let bytesCorrelation = 0.98

  var text: String {
    var parts: [String] = []
    if let absolute { parts.append("abs \(absolute)") }
    if let cosine { parts.append("cos \(cosine)") }
    return parts.joined(separator: ", ")
  }

  /// Compares rows of `width` numbers.
  func check(
    _ stage: String,
    _ name: String,
    _ got: [Float],
    _ golden: [Float],
    width: Int,
    correlates: Bool = false
  ) -> Check {
    guard got.count == golden.count, width > 0 else {
      return Check(
        stage: stage,
        name: name,
        tolerance: text,
        holds: false,
        detail: "expected \(golden.count) numbers, got \(got.count)"
      )
    }
    let largest = zip(got, golden).reduce(0.0) { worst, pair in
      let difference = abs(Double(pair.0) - Double(pair.1))
      return difference.isNaN ? .infinity : max(worst, difference)
    }
    let scale = golden.reduce(0.0) { max($0, abs(Double($1))) }
    let cosine = stride(from: 0, to: golden.count, by: width).reduce(1.0) { worst, start in
      let range = start..<min(start + width, golden.count)
      return min(worst, Self.cosine(got[range], golden[range], centred: correlates))
    }
    let holds = largest <= absolute ?? .infinity && cosine >= self.cosine ?? -1
    return Check(
      stage: stage,
      name: name,
      maxAbsolute: largest,
      maxRelative: largest / max(scale, 1e-30),
      minCosine: cosine,
      tolerance: text,
      holds: holds && largest.isFinite
    )
  }

  /// The sum of the correlations of rows of `width` numbers with their goldens, and how many rows
  /// there are.
  static func correlations(
    _ got: [Float],
    _ golden: [Float],
    width: Int
  ) -> (sum: Double, rows: Int) {
    guard got.count == golden.count, width > 0 else { return (0, 1) }
    let starts = stride(from: 0, to: golden.count, by: width)
    let sum = starts.reduce(0.0) { sum, start in
      let range = start..<min(start + width, golden.count)
      return sum + cosine(got[range], golden[range], centred: true)
    }
    return (sum, golden.count / width)
  }

  private static func cosine(
    _ a: ArraySlice<Float>,
    _ b: ArraySlice<Float>,
    centred: Bool
  ) -> Double {
    let meanA = centred ? a.reduce(0.0) { $0 + Double($1) } / Double(a.count) : 0
    let meanB = centred ? b.reduce(0.0) { $0 + Double($1) } / Double(b.count) : 0
    var (dot, left, right) = (0.0, 0.0, 0.0)
    for (x, y) in zip(a, b) {
      let (u, v) = (Double(x) - meanA, Double(y) - meanB)
      dot += u * v
      left += u * u
      right += v * v
    }
    let length = (left * right).squareRoot()
    if length == 0 { return left == right ? 1 : 0 }
    return dot / length
  }
}
