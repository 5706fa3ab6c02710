public import Graph

/// Element formats a safetensors file may name.
public enum SafetensorsDType: String, Hashable, Sendable, CaseIterable {
  /// Truth values, one byte each.
  case bool = "BOOL"
  /// Unsigned bytes.
  case u8 = "U8"
  /// Signed bytes.
  case i8 = "I8"
  /// Unsigned 16-bit integers.
  case u16 = "U16"
  /// Signed 16-bit integers.
  case i16 = "I16"
  /// Unsigned 32-bit integers.
  case u32 = "U32"
  /// Signed 32-bit integers.
  case i32 = "I32"
  /// Unsigned 64-bit integers.
  case u64 = "U64"
  /// Signed 64-bit integers.
  case i64 = "I64"
  /// IEEE binary16.
  case f16 = "F16"
  /// The upper half of a binary32.
  case bf16 = "BF16"
  /// IEEE binary32.
  case f32 = "F32"
  /// IEEE binary64.
  case f64 = "F64"
  /// Complex numbers of two binary32.
  case c64 = "C64"
  /// 8-bit floats, 4 exponent bits.
  case f8e4m3 = "F8_E4M3"
  /// 8-bit floats, 5 exponent bits.
  case f8e5m2 = "F8_E5M2"
  /// 8-bit powers of two.
  case f8e8m0 = "F8_E8M0"
  /// 6-bit floats, 2 exponent bits.
  case f6e2m3 = "F6_E2M3"
  /// 6-bit floats, 3 exponent bits.
  case f6e3m2 = "F6_E3M2"
  /// 4-bit floats.
  case f4 = "F4"

  /// Bits of one element.
  public var bitCount: Int {
    switch self {
    case .f4: 4
    case .f6e2m3, .f6e3m2: 6
    case .bool, .u8, .i8, .f8e4m3, .f8e5m2, .f8e8m0: 8
    case .u16, .i16, .f16, .bf16: 16
    case .u32, .i32, .f32: 32
    case .u64, .i64, .f64, .c64: 64
    }
  }

  /// The graph's name for this format, nil where graphs have none.
  public var dtype: DType? {
    switch self {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .i32: .i32
    default: nil
    }
  }
}

/// One safetensors file, mapped into memory and checked against the format.
///
/// As in the format's own library, data without holes is required: sorted by offset, the tensors
/// cover the data section exactly. Headers beyond 100 MB are refused.
public final class SafetensorsFile: Sendable {
  /// A tensor as the header lists it.
  public struct Entry: Hashable, Sendable {
    /// The name in the file.
    public let name: String
    /// The element format.
    public let dtype: SafetensorsDType
    /// The extents.
    public let shape: Shape
    /// Where its bytes lie in the file.
    public let range: Range<Int>

    /// The graph's type, nil where graphs have no such element format.
    public var type: TensorType? { dtype.dtype.map { TensorType($0, shape) } }
  }

  /// The tensors in order of their data.
  public let entries: [Entry]
  /// The texts of the header's metadata.
  public let metadata: [String: String]
  /// Where the file lies, its name, its size.
  public let file: MappedFile
  private let positions: [String: Int]

  /// Maps and checks a file.
  ///
  /// - Throws: `FileError`, `JSONError` or `CheckpointError`.
  public init(_ path: String) throws {
    file = try MappedFile(path)
    (entries, metadata) = try SafetensorsHeader.entries(of: file.bytes, file: file.name)
    var positions: [String: Int] = [:]
    for (position, entry) in entries.enumerated() {
      guard positions.updateValue(position, forKey: entry.name) == nil else {
        throw CheckpointError.duplicate(name: entry.name, file: file.name, other: file.name)
      }
    }
    self.positions = positions
    for run in wholeRuns { file.expectWhole(run) }
  }

  /// Ranges of neighbouring tensors that are read whole: all but embedding tables, of which single
  /// rows are read.
  private var wholeRuns: [Range<Int>] {
    var runs: [Range<Int>] = []
    for entry in entries where !entry.name.contains("embed_tokens") {
      if let last = runs.last, last.upperBound + 64 >= entry.range.lowerBound {
        runs[runs.count - 1] = last.lowerBound..<entry.range.upperBound
      } else {
        runs.append(entry.range)
      }
    }
    return runs
  }

  /// The tensor of a name, nil where there is none.
  public func entry(_ name: String) -> Entry? { positions[name].map { entries[$0] } }

  /// The bytes of a tensor in whatever format it has, valid as long as this object lives.
  ///
  /// - Throws: `CheckpointError.absent`.
  public func rawBytes(of name: String) throws(CheckpointError) -> UnsafeRawBufferPointer {
    guard let entry = entry(name) else { throw .absent(name: name, file: file.name) }
    return UnsafeRawBufferPointer(rebasing: file.bytes[entry.range])
  }
}

extension SafetensorsFile: WeightSource {
  /// The type of a tensor; nil where it is absent or graphs have no such element format.
  public func type(of name: String) -> TensorType? { entry(name)?.type }

  /// The bytes of a tensor whose format graphs know, valid as long as this object lives.
  ///
  /// - Throws: `CheckpointError` where it is absent, has another format or is not aligned.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard let entry = entry(name) else {
      throw CheckpointError.absent(name: name, file: file.name)
    }
    guard entry.type != nil else {
      throw CheckpointError.tensor(
        file: file.name,
        name: name,
        expected: "F32, F16, BF16 or I32",
        came: entry.dtype.rawValue
      )
    }
    let alignment = entry.dtype.bitCount / 8
    guard entry.range.isEmpty || entry.range.lowerBound % alignment == 0 else {
      throw CheckpointError.tensor(
        file: file.name,
        name: name,
        expected: "data aligned to \(alignment) bytes",
        came: "offset \(entry.range.lowerBound)"
      )
    }
    return UnsafeRawBufferPointer(rebasing: file.bytes[entry.range])
  }
}
