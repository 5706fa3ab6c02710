import Foundation
import Graph
import TestSupport
import Testing
@testable import Models

/// Stored formats keep what they promise, and reports say what decoding gives.
@Suite struct TensorEncoderTests {
  private static func numbers(_ count: Int, seed: UInt64 = 3) -> [Float] {
    var random = RandomNumbers(seed: seed)
    return (0..<count).map { _ in
      let unit = { Float(random.next() >> 40) / Float(1 << 24) - 0.5 }
      return (unit() + unit() + unit() + unit()) * 0.1
    }
  }

  private static func store(
    _ values: [Float],
    _ type: TensorType
  ) -> (decoded: [Float], report: EncodingReport) {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: type.byteCount, alignment: 64)
    defer { bytes.deallocate() }
    let encoder = TensorEncoder(type)
    let report = values.withUnsafeBufferPointer { buffer in
      buffer.baseAddress.map { encoder.encode($0, 0..<encoder.rows, to: bytes) }
    }
    return (ElementCoding.decode(bytes, type), report ?? EncodingReport())
  }

  @Test(arguments: [
    (DType.f32, 0.0), (.f16, 3e-4), (.int8Row, 0.01), (.int8Block32, 0.007), (.int4Block32, 0.1),
    (.int4Palette32, 0.1),
  ])
  func errorsAreSmallAndReportedAsTheyAre(_ dtype: DType, _ bound: Double) {
    for shape in [Shape([64, 96]), [40, 64], [7, 32], [1, 32]] {
      let values = Self.numbers(shape.elementCount)
      let (decoded, report) = Self.store(values, TensorType(dtype, shape))
      let noise = zip(values, decoded).reduce(0.0) { $0 + pow(Double($1.0 - $1.1), 2) }
      let signal = values.reduce(0.0) { $0 + pow(Double($1), 2) }
      #expect(abs(report.noise - noise) <= 1e-9 + noise * 1e-6)
      #expect(abs(report.signal - signal) <= signal * 1e-6)
      #expect(report.largest == zip(values, decoded).map { abs($0 - $1) }.max())
      #expect((noise / signal).squareRoot() <= bound, "\(dtype) \(shape)")
      #expect(report.unstorable == 0)
    }
  }

  @Test func everyNumberGetsItsNearestPaletteEntry() {
    let values = Self.numbers(32 * 48, seed: 9)
    values.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      let palette = Palette(base, count: buffer.count)
      #expect(palette.numbers == palette.numbers.sorted())
      for value in values {
        let chosen = abs(palette.numbers[palette.code(value)] - value)
        let best = palette.numbers.map { abs($0 - value) }.min() ?? 0
        #expect(chosen <= best + 1e-7)
      }
    }
  }

  @Test func sixteenDifferentNumbersAreKept() {
    let kept = (0..<16).map { Float($0 * $0) / 64 - 1 }
    let values = (0..<32 * 32).map { kept[($0 * 7) % 16] }
    let (decoded, report) = Self.store(values, TensorType(.int4Palette32, [32, 32]))
    #expect(decoded == values)
    #expect(report.noise == 0)
  }

  @Test(arguments: [DType.f16, .int8Row, .int8Block32, .int4Block32, .int4Palette32])
  func numbersThatNoFormatHoldsAreCounted(_ dtype: DType) {
    for bad in [Float.nan, .infinity, -.infinity, 1e30] {
      var values = Self.numbers(32 * 32)
      values[77] = bad
      let (_, report) = Self.store(values, TensorType(dtype, [32, 32]))
      #expect(report.unstorable == 1, "\(dtype) \(bad)")
      values[1000] = bad
      #expect(Self.store(values, TensorType(dtype, [32, 32])).1.unstorable == 2)
    }
  }

  @Test func aStoredFormatHasOneSpelling() {
    #expect(StoredFormat("int4Palette32 1536 128")?.text == "int4Palette32 1536 128")
    #expect(StoredFormat("f32 0")?.text == "f32 0")
    #expect(StoredFormat("f32")?.text == "f32")
    for text in ["f32 +128", "f32 0128", "f32 -0", "f32 00", "f32  1", "f32 1 ", " f32 1", "f33 1"]
    {
      #expect(StoredFormat(text) == nil, "\(text)")
    }
  }

  @Test func zerosStayZero() {
    for dtype in [DType.f16, .int8Row, .int8Block32, .int4Block32, .int4Palette32] {
      let (decoded, report) = Self.store(
        [Float](repeating: 0, count: 1024),
        TensorType(dtype, [32, 32])
      )
      #expect(decoded.allSatisfy { $0 == 0 }, "\(dtype)")
      #expect(report.noise == 0)
    }
  }

  @Test func storedFormatsReadBack() {
    let types = [
      TensorType(.int4Palette32, [64, 96]), TensorType(.f32, []), TensorType(.f16, [3, 4, 5]),
    ]
    for type in types { #expect(StoredFormat(StoredFormat(type).text)?.type == type) }
    for text in [
      "", "int9 3", "f16 -1", "f16 x", "int4Block32 4 31", "int4Palette32 4", "f16  3",
      "f32 4294967296 4294967296", "int8Row 0 4",
    ] {
      #expect(StoredFormat(text) == nil, "\(text)")
    }
  }
}
