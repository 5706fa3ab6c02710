import Graph

/// A tensor's format and shape as a weights file spells them: `int4Palette32 1536 6144`.
struct StoredFormat {
  let type: TensorType

  init(_ type: TensorType) { self.type = type }

  /// Reads the spelling; nil where it is none, or names a shape that the format cannot have.
  init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let first = words.first, let dtype = DType(rawValue: String(first)) else { return nil }
    let extents = words.dropFirst().map { Int($0) ?? -1 }
    guard extents.allSatisfy({ (0...1 << 32).contains($0) }), extents.count <= 8 else { return nil }
    // One spelling for each shape: no signs, no leading zeros.
    guard words.dropFirst().elementsEqual(extents, by: { $0 == String($1) }) else { return nil }
    var count = 1
    for extent in extents {
      let (product, overflow) = count.multipliedReportingOverflow(by: extent)
      guard !overflow, product <= 1 << 48 else { return nil }
      count = product
    }
    let shape = Shape(extents)
    guard dtype.isDense || (extents.count == 2 && count > 0) else { return nil }
    let fits =
      switch dtype {
      case .int8Block32, .int4Block32: shape.last % 32 == 0
      case .int4Palette32: shape.last % 2 == 0
      default: true
      }
    guard fits else { return nil }
    type = TensorType(dtype, shape)
  }

  var text: String {
    ([type.dtype.rawValue] + type.shape.extents.map(String.init)).joined(separator: " ")
  }
}

extension DType {
  /// Bytes to which a tensor has to be aligned.
  var alignment: Int {
    switch self {
    case .f32, .i32: 4
    case .f16, .bf16: 2
    case .int8Block32, .int8Row, .int4Block32, .int4Palette32: 1
    }
  }
}
