import CKernels
import Testing

/// What the kernels may differ by from sums in f64.
enum KernelTolerance {
  /// Of the sum of the terms' absolute values.
  static let product = 2e-6
  /// Of the largest value that is averaged.
  static let attention = 2e-5
  /// Of the result, plus as much of 1.
  static let element = 2e-6
  /// Of a normalised row's largest number.
  static let row = 4e-6
}

/// Instruction sets this processor runs.
let kernelSets: [String] = ["portable", "avx2", "avx512"].filter { (name: String) -> Bool in
  tk_rows_named(name) != nil
}

/// A pool that uses one instruction set.
final class KernelPool {
  let handle: OpaquePointer

  init(_ set: String = kernelSets[0], threads: Int = 2) throws {
    handle = try #require(tk_pool_create(Int32(threads), nil))
    #expect(tk_pool_use(handle, set))
  }

  deinit { tk_pool_destroy(handle) }
}

/// The same numbers in every run.
struct Noise {
  private var state: UInt64

  init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func bits() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 24
  }

  mutating func next() -> Float { Float(Int64(bits() & 0xFFFF_FFFF) - 0x8000_0000) * 0x1p-31 }

  mutating func floats(_ count: Int, scale: Float = 1) -> [Float] {
    (0..<count).map { _ in next() * scale }
  }
}

/// Scratch with a guard behind it.
func withScratch<R>(_ byteCount: Int, _ body: (UnsafeMutableRawPointer) -> R) -> R {
  let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount + 64, alignment: 64)
  defer { memory.deallocate() }
  memory.initializeMemory(as: UInt8.self, repeating: 0xFF, count: byteCount)
  (memory + byteCount).initializeMemory(as: UInt8.self, repeating: 0xA5, count: 64)
  let result = body(memory)
  let guardBytes = UnsafeRawBufferPointer(start: memory + byteCount, count: 64)
  #expect(guardBytes.allSatisfy { $0 == 0xA5 }, "written beyond the scratch")
  return result
}

/// The worst difference where `allowed` says what 1 means; NaN must meet NaN.
func worst(_ got: [Float], _ want: [Double], _ allowed: (Int) -> Double) -> Double {
  guard got.count == want.count else { return .infinity }
  var worst = 0.0
  for index in got.indices {
    let (a, b) = (Double(got[index]), want[index])
    if a.isNaN || b.isNaN {
      if a.isNaN != b.isNaN { return .infinity }
    } else if a != b {
      let difference = abs(a - b) / allowed(index)
      worst = max(worst, difference.isNaN ? .infinity : difference)
    }
  }
  return worst
}

/// A random matrix in a stored format with the numbers it stands for.
struct StoredMatrix {
  let format: tk_format
  let rows: Int
  let columns: Int
  private(set) var bytes: [UInt8] = []
  private(set) var values: [Double] = []

  static let formats = [
    TK_F32, TK_F16, TK_BF16, TK_INT8_BLOCK32, TK_INT8_ROW, TK_INT4_BLOCK32, TK_INT4_PALETTE32,
  ]

  init(_ format: tk_format, _ rows: Int, _ columns: Int, seed: Int) {
    self.format = format
    self.rows = rows
    self.columns = columns
    var noise = Noise(seed)
    switch format {
    case TK_F32, TK_F16, TK_BF16: fillDense(&noise)
    case TK_INT8_BLOCK32, TK_INT8_ROW: fillBytes(&noise)
    default: fillNibbles(&noise)
    }
  }

  private mutating func append<T>(_ value: T) {
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }

  private mutating func fillDense(_ noise: inout Noise) {
    for _ in 0..<rows * columns {
      let value = noise.next()
      switch format {
      case TK_F32:
        append(value)
        values.append(Double(value))
      case TK_F16:
        append(Float16(value))
        values.append(Double(Float16(value)))
      default:
        let upper = value.bitPattern >> 16
        append(UInt16(upper))
        values.append(Double(Float(bitPattern: upper << 16)))
      }
    }
  }

  private mutating func fillBytes(_ noise: inout Noise) {
    let stored = (0..<rows * columns).map { _ in Int8(truncatingIfNeeded: noise.bits()) }
    bytes = stored.map { UInt8(bitPattern: $0) }
    let block = format == TK_INT8_ROW ? columns : 32
    let scales = (0..<rows * columns / block).map { _ in Float16(noise.next() * 0.02) }
    scales.forEach { append($0) }
    values = stored.indices.map { Double(stored[$0]) * Double(scales[$0 / block]) }
  }

  private mutating func fillNibbles(_ noise: inout Noise) {
    let stored = (0..<rows * columns).map { _ in UInt8(noise.bits() & 15) }
    bytes = stride(from: 0, to: stored.count, by: 2).map { stored[$0] | stored[$0 + 1] << 4 }
    if format == TK_INT4_BLOCK32 {
      let scales = (0..<stored.count / 32).map { _ in Float16(noise.next() * 0.1) }
      scales.forEach { append($0) }
      values = stored.indices.map { (Double(stored[$0]) - 8) * Double(scales[$0 / 32]) }
    } else {
      let tables = (0..<(rows + 31) / 32 * 16).map { _ in Float16(noise.next()) }
      tables.forEach { append($0) }
      values = stored.indices.map {
        Double(tables[$0 / columns / 32 * 16 + Int(stored[$0])])
      }
    }
  }

  /// Puts a number in place of the scale, or of the palette's entry, that one quantised weight comes from.
  ///
  /// - Returns: the weight rows that may follow it.
  mutating func replaceSource(row: Int, column: Int, with value: Float16) -> Range<Int> {
    let place = row * columns + column
    let codes = format == TK_INT8_BLOCK32 ? rows * columns : rows * columns / 2
    let isPalette = format == TK_INT4_PALETTE32
    let code = isPalette ? Int(bytes[place / 2] >> (place % 2 == 0 ? 0 : 4)) & 15 : 0
    let index = isPalette ? row / 32 * 16 + code : place / 32
    withUnsafeBytes(of: value) {
      bytes.replaceSubrange(codes + 2 * index..<codes + 2 * index + 2, with: $0)
    }
    let group = row / 32 * 32
    return isPalette ? group..<min(group + 32, rows) : row..<row + 1
  }

  /// Every weight at its largest, scales and palettes too.
  mutating func fillWithLargest() {
    let codes = format == TK_INT8_BLOCK32 ? rows * columns : rows * columns / 2
    let code: UInt8 = format == TK_INT8_BLOCK32 ? 127 : 0xFF
    for index in 0..<codes { bytes[index] = code }
    let largest: Float16 = 65_504
    for index in stride(from: codes, to: bytes.count, by: 2) {
      withUnsafeBytes(of: largest) { bytes.replaceSubrange(index..<index + 2, with: $0) }
    }
    let number = format == TK_INT8_BLOCK32 ? 127.0 : format == TK_INT4_BLOCK32 ? 7 : 1
    values = values.map { _ in number * Double(largest) }
  }

  func withMatrix<R>(_ body: (inout tk_matrix) -> R) -> R {
    bytes.withUnsafeBytes {
      var matrix = tk_matrix(
        data: $0.baseAddress,
        format: format,
        rows: rows,
        columns: columns
      )
      return body(&matrix)
    }
  }
}

/// A linear layer by the kernels, in fixed point where asked for.
func linearProduct(
  _ x: [Float],
  _ rows: Int,
  _ weight: StoredMatrix,
  bias: [Float]?,
  _ pool: KernelPool,
  isFixed: Bool = false
) -> [Float] {
  let size = isFixed ? tk_linear_fixed_scratch : tk_linear_scratch
  let product = isFixed ? tk_linear_fixed : tk_linear
  var y = [Float](repeating: .nan, count: rows * weight.rows)
  weight.withMatrix { matrix in
    withScratch(size(pool.handle, rows, &matrix)) {
      product(pool.handle, x, rows, &matrix, bias, &y, $0)
    }
  }
  return y
}
