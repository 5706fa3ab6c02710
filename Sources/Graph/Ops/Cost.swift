/// What one run of a node asks of a unit, whatever the unit.
public struct Cost: Hashable, Sendable {
  /// Floating-point operations, a multiply-add counted as two.
  public var flops: Int
  /// Bytes of operands read, each once.
  public var bytesRead: Int
  /// Bytes of the result written.
  public var bytesWritten: Int

  /// A cost from its parts.
  public init(flops: Int = 0, bytesRead: Int = 0, bytesWritten: Int = 0) {
    self.flops = flops
    self.bytesRead = bytesRead
    self.bytesWritten = bytesWritten
  }

  /// The cost of both.
  public static func + (left: Cost, right: Cost) -> Cost {
    Cost(
      flops: left.flops + right.flops,
      bytesRead: left.bytesRead + right.bytesRead,
      bytesWritten: left.bytesWritten + right.bytesWritten
    )
  }
}

extension Op {
  /// The cost of one run.
  ///
  /// Views (reshape) cost nothing; a gather reads only the rows it takes.
  public func cost(inputs: [TensorType], result: TensorType) -> Cost {
    switch self {
    case .input, .constant, .reshape: return Cost()
    default: break
    }
    var read = inputs.reduce(0) { $0 + $1.byteCount }
    if case .gather = self, inputs.count == 2 {
      read =
        inputs[0].dtype.byteCount(of: inputs[0].shape.replacingFirst(with: 1))
        * result.shape[0] + inputs[1].byteCount
    }
    var written = result.byteCount
    if case .cacheUpdate = self, inputs.count == 4 {
      read = inputs[1].byteCount
      written = result.dtype.byteCount(of: inputs[1].shape)
    }
    return Cost(
      flops: flops(inputs: inputs, result: result),
      bytesRead: read,
      bytesWritten: written
    )
  }

  private func flops(inputs: [TensorType], result: TensorType) -> Int {
    let count = result.shape.elementCount
    switch self {
    case .input, .constant, .reshape, .transpose, .slice, .concat, .pad, .gather, .cacheUpdate:
      return 0
    case .cast, .clamp, .binary, .affine, .argmax, .attentionMask, .countMask: return count
    case .unary, .softcap, .gatedGelu: return 10 * count
    case .reduce: return inputs[0].shape.elementCount
    case .rmsNorm, .softmax: return 4 * count
    case .layerNorm: return 6 * count
    case .rotaryTable: return 20 * count
    case .rotate: return 3 * count
    case .linear, .matmul: return 2 * count * inputs[0].shape.last
    case .attention: return attentionFlops(inputs[0], keys: inputs[1].shape[0])
    case .cachedAttention(_, let window):
      let keys = inputs[1].shape[0] + inputs[3].shape[0]
      return attentionFlops(inputs[0], keys: min(keys, window ?? keys))
    case .maskedAttention:
      let past = inputs.count > 4 ? inputs[3].shape[0] : 0
      return attentionFlops(inputs[0], keys: inputs[1].shape[0] + past)
    case .bandedAttention(let window, _): return attentionFlops(inputs[0], keys: window) * 3 / 2
    case .conv2D:
      let weight = inputs[1].shape
      return 2 * count * weight[1] * weight[2] * weight[3]
    case .causalDepthwiseConv: return 2 * count * inputs[1].shape.last
    }
  }

  private func attentionFlops(_ query: TensorType, keys: Int) -> Int {
    query.shape.elementCount * keys * 4 + query.shape[0] * query.shape[1] * keys * 4
  }
}
