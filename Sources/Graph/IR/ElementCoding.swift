/// Conversions between stored formats and numbers, one element at a time.
public enum ElementCoding {
  /// binary16 to binary32.
  public static func widen(half bits: UInt16) -> Float {
    let sign = UInt32(bits & 0x8000) << 16
    let exponent = UInt32(bits >> 10) & 0x1F
    let fraction = UInt32(bits & 0x3FF)
    switch exponent {
    case 0:
      let magnitude = Float(fraction) * 0x1p-24
      return sign == 0 ? magnitude : -magnitude
    case 31: return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
    default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
    }
  }

  /// binary32 to binary16, nearest even.
  public static func narrow(half value: Float) -> UInt16 {
    let bits = value.bitPattern
    let sign = UInt16((bits >> 16) & 0x8000)
    let magnitude = bits & 0x7FFF_FFFF
    if magnitude > 0x7F80_0000 { return sign | 0x7E00 }
    if magnitude >= 0x4780_0000 { return sign | 0x7C00 }
    if magnitude < 0x3880_0000 {
      let scaled = Float(bitPattern: magnitude) * 0x1p24
      return sign | UInt16(scaled.rounded(.toNearestOrEven))
    }
    let rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1)
    return sign | UInt16(truncatingIfNeeded: (rounded - 0x3800_0000) >> 13)
  }

  /// binary32 to bfloat16, nearest even.
  public static func narrow(brain value: Float) -> UInt16 {
    let bits = value.bitPattern
    if value.isNaN { return UInt16(bits >> 16) | 0x40 }
    return UInt16(truncatingIfNeeded: (bits &+ 0x7FFF &+ ((bits >> 16) & 1)) >> 16)
  }

  /// Every number of a tensor of any float format.
  public static func decode(_ bytes: UnsafeRawPointer, _ type: TensorType) -> [Float] {
    decode(bytes, type, elements: 0..<type.shape.elementCount)
  }

  /// Some numbers of a tensor of any float format, counted row-major.
  public static func decode(
    _ bytes: UnsafeRawPointer,
    _ type: TensorType,
    elements: Range<Int>
  ) -> [Float] {
    let count = type.shape.elementCount
    let columns = type.shape.last
    func half(_ offset: Int) -> Float {
      widen(half: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
    func nibble(_ index: Int) -> Int {
      Int(bytes.load(fromByteOffset: index / 2, as: UInt8.self) >> (index % 2 == 0 ? 0 : 4)) & 15
    }
    switch type.dtype {
    case .f32:
      return elements.map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
    case .i32:
      return elements.map { Float(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self)) }
    case .f16: return elements.map { half(2 * $0) }
    case .bf16:
      return elements.map {
        Float(
          bitPattern: UInt32(bytes.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self)) << 16
        )
      }
    case .int8Block32, .int8Row:
      let block = type.dtype == .int8Row ? columns : 32
      return elements.map {
        Float(bytes.load(fromByteOffset: $0, as: Int8.self)) * half(count + $0 / block * 2)
      }
    case .int4Block32:
      return elements.map { Float(nibble($0) - 8) * half(count / 2 + $0 / 32 * 2) }
    case .int4Palette32:
      return elements.map {
        half(count / 2 + $0 / columns / 32 * 32 + nibble($0) * 2)
      }
    }
  }

  /// Stores numbers in a dense float format.
  public static func encode(_ values: [Float], _ dtype: DType, to target: UnsafeMutableRawPointer) {
    for (index, value) in values.enumerated() {
      switch dtype {
      case .f16:
        target.storeBytes(of: narrow(half: value), toByteOffset: 2 * index, as: UInt16.self)
      case .bf16:
        target.storeBytes(of: narrow(brain: value), toByteOffset: 2 * index, as: UInt16.self)
      default: target.storeBytes(of: value, toByteOffset: 4 * index, as: Float.self)
      }
    }
  }

  /// A number as a dense float format keeps it.
  public static func rounded(_ value: Float, to dtype: DType) -> Float {
    switch dtype {
    case .f16: widen(half: narrow(half: value))
    case .bf16: Float(bitPattern: UInt32(narrow(brain: value)) << 16)
    default: value
    }
  }
}
