import Glibc

/// How the next token is chosen.
public struct SamplingOptions: Hashable, Sendable {
  /// Divides the logits; nil or 0 takes the most likely token.
  public var temperature: Double?
  /// Only so many most likely tokens are candidates; nil or 0 for all.
  public var topK: Int?
  /// Only the most likely tokens that together reach this probability are candidates.
  public var topP: Double?
  /// Where the random numbers start.
  public var seed: UInt64

  /// Options; without a temperature the most likely token is taken.
  public init(
    temperature: Double? = nil,
    topK: Int? = nil,
    topP: Double? = nil,
    seed: UInt64 = 0
  ) {
    self.temperature = temperature
    self.topK = topK
    self.topP = topP
    self.seed = seed
  }
}

/// Why a token cannot be chosen.
public enum SamplingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An option has an impossible value.
  case option(name: String, expected: String, came: String)
  /// There are no logits.
  case noLogits
  /// A logit is NaN or plus infinity, or all are minus infinity.
  case unusableLogits(index: Int, value: Float)

  /// One line that names the subject.
  public var description: String {
    switch self {
    case .option(let name, let expected, let came): "\(name): expected \(expected), came \(came)"
    case .noLogits: "logits: expected at least one, came none"
    case .unusableLogits(let index, let value):
      "logits: expected a number for token \(index), came \(value)"
    }
  }

  static func checkTemperature(_ value: Double?) -> SamplingError? {
    guard let value, !(0...100).contains(value) else { return nil }
    return .option(name: "temperature", expected: "a number from 0 to 100", came: "\(value)")
  }

  static func checkTopK(_ value: Int?) -> SamplingError? {
    guard let value, value < 0 else { return nil }
    return .option(name: "top-k", expected: "a count of at least 0", came: "\(value)")
  }

  static func checkTopP(_ value: Double?) -> SamplingError? {
    guard let value, !(value > 0 && value <= 1) else { return nil }
    return .option(name: "top-p", expected: "a number above 0 and at most 1", came: "\(value)")
  }
}

/// Chooses tokens from logits: temperature, then the `topK` most likely, then the `topP` mass.
///
/// Among equal logits the lower id counts as the more likely. The random numbers depend on the
/// seed and the number of draws alone.
public struct Sampler: Sendable {
  /// What was asked for.
  public let options: SamplingOptions
  private var drawCount: UInt64 = 0

  /// A sampler at its first draw.
  ///
  /// - Throws: `SamplingError.option` where an option has an impossible value.
  public init(_ options: SamplingOptions) throws(SamplingError) {
    let error =
      SamplingError.checkTemperature(options.temperature)
      ?? SamplingError.checkTopK(options.topK) ?? SamplingError.checkTopP(options.topP)
    if let error { throw error }
    self.options = options
  }

  /// The id of the largest logit, the lowest among equals.
  ///
  /// - Throws: where there are no logits, one is NaN or plus infinity, or all are minus infinity.
  public static func greedy(_ logits: UnsafeBufferPointer<Float>) throws(SamplingError) -> Int {
    guard let first = logits.first else { throw .noLogits }
    var block = 0..<0
    var largest = -Float.infinity
    for start in stride(from: 0, to: logits.count, by: blockCount) {
      let range = start..<min(start + blockCount, logits.count)
      guard let peak = peak(UnsafeBufferPointer(rebasing: logits[range])) else {
        let index = range.first { !(logits[$0] < .infinity) } ?? start
        throw .unusableLogits(index: index, value: logits[index])
      }
      if peak > largest { (block, largest) = (range, peak) }
    }
    guard let best = block.first(where: { logits[$0] == largest }) else {
      throw .unusableLogits(index: 0, value: first)
    }
    return best
  }

  private static let blockCount = 1 << 12

  /// The largest of some logits; nil where one is NaN or plus infinity.
  private static func peak(_ logits: UnsafeBufferPointer<Float>) -> Float? {
    typealias Lanes = SIMD16<Float>
    let (memory, width) = (UnsafeRawBufferPointer(logits), Lanes.scalarCount)
    var peaks = Lanes(repeating: -.infinity)
    var areUsable = peaks .< .infinity
    for index in 0..<logits.count / width {
      let values = memory.loadUnaligned(fromByteOffset: index * width * 4, as: Lanes.self)
      areUsable .&= values .< .infinity
      peaks.replace(with: values, where: values .> peaks)
    }
    guard all(areUsable) else { return nil }
    var peak = peaks.max()
    for value in logits[(logits.count / width * width)...] {
      guard value < .infinity else { return nil }
      peak = max(peak, value)
    }
    return peak
  }

  /// The id of the next token.
  ///
  /// - Parameter logits: one for every id.
  /// - Returns: an id.
  /// - Throws: as `greedy`.
  public mutating func next(_ logits: UnsafeBufferPointer<Float>) throws(SamplingError) -> Int {
    let best = try Self.greedy(logits)
    guard let temperature = options.temperature, temperature > 0 else { return best }
    let uniform = Self.uniform(seed: options.seed, draw: drawCount)
    drawCount += 1
    let largest = Double(logits[best])
    func weight(_ index: Int) -> Double { exp((Double(logits[index]) - largest) / temperature) }
    let limit = min(options.topK.map { $0 > 0 ? $0 : .max } ?? .max, logits.count)
    let topP = options.topP ?? 1
    guard limit < logits.count || topP < 1 else {
      return Self.pick(Array(logits.indices), weight, uniform) ?? best
    }
    let candidates = Self.candidates(logits, limit: limit, topP: topP, weight)
    return Self.pick(candidates, weight, uniform) ?? best
  }

  /// The next token of an array of logits.
  ///
  /// - Parameter logits: one for every id.
  /// - Returns: an id.
  /// - Throws: as `greedy`.
  public mutating func next(_ logits: [Float]) throws(SamplingError) -> Int {
    var sampler = self
    defer { self = sampler }
    return try logits.withUnsafeBufferPointer { buffer throws(SamplingError) in
      try sampler.next(buffer)
    }
  }

  private static func pick(
    _ ids: [Int],
    _ weight: (Int) -> Double,
    _ uniform: Double
  ) -> Int? {
    let total = ids.reduce(0) { $0 + weight($1) }
    var rest = uniform * total
    for id in ids {
      let share = weight(id)
      rest -= share
      if rest < 0, share > 0 { return id }
    }
    return ids.last { weight($0) > 0 }
  }

  private static func candidates(
    _ logits: UnsafeBufferPointer<Float>,
    limit: Int,
    topP: Double,
    _ weight: (Int) -> Double
  ) -> [Int] {
    guard topP < 1 else { return largest(logits, limit) }
    let isLimited = limit < logits.count
    var count = isLimited ? limit : min(limit, 256)
    let whole = isLimited ? 0 : logits.indices.reduce(0) { $0 + weight($1) }
    while true {
      let ids = largest(logits, count)
      let total = isLimited ? ids.reduce(0) { $0 + weight($1) } : whole
      var mass = 0.0
      for (position, id) in ids.enumerated() {
        mass += weight(id)
        if mass >= topP * total { return Array(ids[...position]) }
      }
      if count >= limit { return ids }
      count = min(limit, count * 16)
    }
  }

  /// The ids of the `count` largest logits, largest first, lower ids first among equals.
  private static func largest(_ logits: UnsafeBufferPointer<Float>, _ count: Int) -> [Int] {
    func isBefore(_ left: Int, _ right: Int) -> Bool {
      logits[left] > logits[right] || logits[left] == logits[right] && left < right
    }
    guard count < logits.count else { return logits.indices.sorted(by: isBefore) }
    var best: [Int] = []
    best.reserveCapacity(2 * count)
    var threshold = -Float.infinity
    for index in logits.indices where best.count < count || logits[index] > threshold {
      best.append(index)
      guard best.count == 2 * count else { continue }
      best.sort(by: isBefore)
      best.removeLast(count)
      threshold = logits[best[count - 1]]
    }
    best.sort(by: isBefore)
    return Array(best.prefix(count))
  }

  /// A number from 0 to below 1: SplitMix64 of the seed at a draw.
  static func uniform(seed: UInt64, draw: UInt64) -> Double {
    var value = seed &+ (draw &+ 1) &* 0x9E37_79B9_7F4A_7C15
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Double((value ^ (value >> 31)) >> 11) * 0x1p-53
  }
}
