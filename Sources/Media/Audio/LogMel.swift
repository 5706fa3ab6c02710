internal import Glibc

/// Why mel parameters cannot be used.
public enum LogMelError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A parameter is outside what is computed here.
  case badParameter(name: String, expected: String, value: Double)

  /// One line with the parameter and its value.
  public var description: String {
    switch self {
    case .badParameter(let name, let expected, let value):
      "\(name): expected \(expected), got \(value)"
    }
  }
}

/// The parameters of the feature extractor, named as in `processor_config.json`.
public struct LogMelParameters: Equatable, Sendable {
  /// Samples per second.
  public var samplingRate = 16_000
  /// Samples under the window.
  public var frameLength = 320
  /// Samples from one frame to the next.
  public var hopLength = 160
  /// Length of the transform, a power of two.
  public var fftLength = 512
  /// Mel filters.
  public var featureSize = 128
  /// Lower edge of the lowest filter, in Hz.
  public var minFrequency = 0.0
  /// Upper edge of the highest filter, in Hz.
  public var maxFrequency = 8000.0
  /// Added before the logarithm.
  public var melFloor = 0.001
  /// Factor on the samples.
  public var inputScaleFactor = 1.0

  /// The published values.
  public init() {}
}

/// A log-mel spectrogram.
public struct MelSpectrogram: Equatable, Sendable {
  /// Frames `F`, valid or not.
  public let frameCount: Int
  /// Frames whose centre lies in the sound; the others, at the end, are zero.
  public let validFrameCount: Int
  /// Natural logarithms.
  ///
  /// Shape `[F, 128]`, float32, row-major.
  public let values: [Float]

  /// Tokens after the encoder's fourfold reduction.
  public var softTokenCount: Int { (validFrameCount + 3) / 4 }
}

/// The audio encoder's features: magnitudes through triangular mel filters, as logarithms.
///
/// The window is applied in float32, everything after it is float64. The extractor it follows has a
/// float32 transform, whose rounding shows only in nearly silent bins.
///
/// Source: the Gemma 4 audio feature extractor.
public struct LogMel: Sendable {
  /// The parameters.
  public let parameters: LogMelParameters
  /// Periodic Hann window.
  ///
  /// Shape `[frameLength]`.
  public let window: [Float]
  private let filters: MelFilters
  private let transform: FourierTransform

  /// Samples that are looked at, at most: 30 s at 16 kHz.
  public static let maxSamples = 480_000

  /// Prepares window, filters and transform.
  ///
  /// - Throws: `LogMelError` for parameters outside what is computed here.
  public init(parameters: LogMelParameters = LogMelParameters()) throws(LogMelError) {
    let counts = [
      ("frame_length", parameters.frameLength), ("hop_length", parameters.hopLength),
      ("feature_size", parameters.featureSize), ("sampling_rate", parameters.samplingRate),
    ]
    for (name, value) in counts where !(1...1_000_000).contains(value) {
      throw .badParameter(name: name, expected: "1 to 1000000", value: Double(value))
    }
    let length = parameters.fftLength
    guard length >= max(4, parameters.frameLength), length <= 1 << 20, length & (length - 1) == 0
    else {
      throw .badParameter(
        name: "fft_length",
        expected: "a power of two of at least frame_length",
        value: Double(length)
      )
    }
    guard parameters.minFrequency >= 0, parameters.maxFrequency > parameters.minFrequency else {
      throw .badParameter(
        name: "max_frequency",
        expected: "more than min_frequency",
        value: parameters.maxFrequency
      )
    }
    guard parameters.melFloor > 0 else {
      throw .badParameter(name: "mel_floor", expected: "more than 0", value: parameters.melFloor)
    }
    self.parameters = parameters
    let size = Double(parameters.frameLength)
    window = (0..<parameters.frameLength).map {
      Float(0.5 - 0.5 * cos(2 * Double.pi * Double($0) / size))
    }
    filters = MelFilters(parameters)
    transform = FourierTransform(length: length)
  }

  /// The weight of every filter at every bin.
  ///
  /// Shape `[fftLength / 2 + 1, featureSize]`.
  public var melFilters: [Double] { filters.dense }

  /// Frames, valid frames and soft tokens of a sound of a length, in samples.
  public func counts(
    sampleCount: Int
  ) -> (frames: Int, validFrames: Int, softTokens: Int) {
    let count = min(sampleCount, Self.maxSamples)
    let half = parameters.frameLength / 2
    let padded = (count + 127) / 128 * 128
    let room = half + padded - (parameters.frameLength + 1)
    let frames = room < 0 ? 0 : room / parameters.hopLength + 1
    // Frame i is valid when the sample at i hops and one window's half behind it exists.
    let last = count - 1 + half - parameters.frameLength
    let valid = last < 0 ? 0 : min(frames, last / parameters.hopLength + 1)
    return (frames, valid, (valid + 3) / 4)
  }

  /// The features of the first 30 s of `samples`, mono at the sampling rate.
  public func callAsFunction(_ samples: some Collection<Float>) -> MelSpectrogram {
    let count = min(samples.count, Self.maxSamples)
    let (frames, valid, _) = counts(sampleCount: count)
    let half = parameters.frameLength / 2
    let padded = (count + 127) / 128 * 128
    var signal = [Float](repeating: 0, count: half)
    signal.reserveCapacity(half + padded)
    let factor = Float(parameters.inputScaleFactor)
    signal.append(contentsOf: samples.prefix(count))
    signal.append(contentsOf: repeatElement(0, count: padded - count))
    if factor != 1 { signal = signal.map { $0 * factor } }
    let step = FourierTransform.signals
    var values = [Float](repeating: 0, count: frames * parameters.featureSize)
    var work = transform.makeWorkspace()
    for first in stride(from: 0, to: valid, by: step) {
      load(signal, first: first, count: min(step, valid - first), into: &work)
      transform.run(&work)
      project(work, first: first, count: min(step, valid - first), into: &values)
    }
    return MelSpectrogram(frameCount: frames, validFrameCount: valid, values: values)
  }

  /// Puts `count` windowed frames side by side into the lanes, real parts first.
  private func load(
    _ signal: [Float],
    first: Int,
    count: Int,
    into work: inout FourierTransform.Workspace
  ) {
    work.clear()
    let (lanes, hop) = (FourierTransform.lanes, parameters.hopLength)
    for index in 0..<parameters.frameLength {
      let weight = window[index]
      for lane in 0..<min(count, lanes) {
        work.real[index][lane] = Double(signal[(first + lane) * hop + index] * weight)
      }
      for lane in lanes..<max(count, lanes) {
        work.imaginary[index][lane - lanes] =
          Double(signal[(first + lane) * hop + index] * weight)
      }
    }
  }

  private func project(
    _ work: FourierTransform.Workspace,
    first: Int,
    count: Int,
    into values: inout [Float]
  ) {
    let (real, imaginary) = transform.magnitudes(work)
    let lanes = FourierTransform.lanes
    for filter in 0..<parameters.featureSize {
      let start = filters.first[filter]
      var (low, high) = (SIMD4<Double>.zero, SIMD4<Double>.zero)
      for (offset, weight) in filters.weights[filter].enumerated() {
        low += real[start + offset] * weight
        high += imaginary[start + offset] * weight
      }
      for lane in 0..<count {
        let sum = lane < lanes ? low[lane] : high[lane - lanes]
        values[(first + lane) * parameters.featureSize + filter] =
          Float(log(sum + parameters.melFloor))
      }
    }
  }
}
