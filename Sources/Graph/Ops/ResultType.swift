extension Op {
  /// The type that operands of these types give.
  ///
  /// - Throws: `OperandError` where they do not fit.
  public func resultType(of inputs: [TensorType]) throws(OperandError) -> TensorType {
    switch self {
    case .input, .constant: throw OperandError("a source has no operands to take a type from")
    case .unary, .affine, .clamp, .softcap: return try Elementwise.unary(inputs)
    case .binary: return try Elementwise.binary(inputs)
    case .cast(let dtype): return try Elementwise.cast(inputs, to: dtype)
    case .gatedGelu: return try Elementwise.gated(inputs)
    case .linear: return try MatrixProduct.linear(inputs)
    case .matmul(let transposed): return try MatrixProduct.matmul(inputs, transposed: transposed)
    case .rmsNorm: return try RowWise.norm(inputs, operands: 1...2)
    case .layerNorm: return try RowWise.norm(inputs, operands: 2...2)
    case .softmax: return try RowWise.norm(inputs, operands: 1...1)
    case .argmax: return try RowWise.argmax(inputs)
    case .reduce(_, let axis): return try RowWise.reduce(inputs, axis: axis)
    case .rotaryTable: return try Rotary.table(inputs)
    case .rotate(let axes): return try Rotary.rotate(inputs, axes: axes)
    case .attention: return try Attention.full(inputs)
    case .cachedAttention(_, let window): return try Attention.cached(inputs, window: window)
    case .bandedAttention(let window, _): return try Attention.banded(inputs, window: window)
    case .maskedAttention: return try Attention.masked(inputs)
    case .attentionMask(let queries, let past, let new, _):
      return try Attention.mask(inputs, queries: queries, past: past, new: new)
    case .countMask(let rows):
      try Expect.count(inputs, 1...1)
      try Expect.integers("count", inputs[0], count: 1)
      return TensorType(.f32, [rows])
    case .cacheUpdate: return try Attention.update(inputs)
    case .gather: return try Movement.gather(inputs)
    case .reshape(let shape): return try Movement.reshape(inputs, to: shape)
    case .transpose(let permutation): return try Movement.transpose(inputs, permutation)
    case .slice(let axis, let start, let count):
      return try Movement.slice(inputs, axis: axis, start: start, count: count)
    case .concat(let axis): return try Movement.concat(inputs, axis: axis)
    case .pad(let axis, let before, let after):
      return try Movement.pad(inputs, axis: axis, before: before, after: after)
    case .conv2D(let stride, let padding):
      return try Convolution.conv2D(inputs, stride: stride, padding: padding)
    case .causalDepthwiseConv: return try Convolution.depthwise(inputs)
    }
  }
}

/// Checks that op families share.
enum Expect {
  static func count(
    _ inputs: [TensorType],
    _ range: ClosedRange<Int>
  ) throws(OperandError) {
    guard range.contains(inputs.count) else {
      let wanted = range.count == 1 ? "\(range.lowerBound)" : "\(range)"
      throw OperandError("expected \(wanted) operands, got \(inputs.count)")
    }
  }

  static func dense(_ type: TensorType) throws(OperandError) {
    guard type.dtype.isDense, type.dtype.isFloat else {
      throw OperandError("expected a dense float operand, got \(type)")
    }
  }

  static func shape(
    _ what: String,
    _ type: TensorType,
    _ shape: Shape
  ) throws(OperandError) {
    guard type.shape == shape else {
      throw OperandError("expected \(what) of shape \(shape), got \(type.shape)")
    }
  }

  static func rank(_ what: String, _ type: TensorType, _ rank: Int) throws(OperandError) {
    guard type.shape.rank == rank else {
      throw OperandError("expected \(what) of rank \(rank), got \(type)")
    }
  }

  static func integers(
    _ what: String,
    _ type: TensorType,
    count: Int? = nil
  ) throws(OperandError) {
    guard type.dtype == .i32, count == nil || type.shape.elementCount == count else {
      let length = count.map { "[\($0)]" } ?? ""
      throw OperandError("expected \(what) of type i32\(length), got \(type)")
    }
  }

  static func axis(_ axis: Int, of type: TensorType) throws(OperandError) {
    guard axis >= 0, axis < type.shape.rank else {
      throw OperandError("axis \(axis) does not exist in \(type)")
    }
  }
}
