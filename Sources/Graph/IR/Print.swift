extension Op {
  /// The operation's name and attributes, stable enough to keep in golden files.
  public var text: String {
    switch self {
    case .input: "input"
    case .constant(.weight): "weight"
    case .constant(.literal): "literal"
    case .unary(let kind): kind.rawValue
    case .binary(let kind): kind.rawValue
    case .affine(let scale, let offset): "affine(\(scale), \(offset))"
    case .clamp(let lower, let upper): "clamp(\(lower), \(upper))"
    case .softcap(let cap): "softcap(\(cap))"
    case .cast(let dtype): "cast(\(dtype.rawValue))"
    case .gatedGelu: "gatedGelu"
    case .linear: "linear"
    case .matmul(let transposed): transposed ? "matmulTransposed" : "matmul"
    case .rmsNorm(let epsilon): "rmsNorm(\(epsilon))"
    case .layerNorm(let epsilon): "layerNorm(\(epsilon))"
    case .softmax: "softmax"
    case .argmax: "argmax"
    case .reduce(let kind, let axis): "\(kind.rawValue)(axis \(axis))"
    case .rotaryTable: "rotaryTable"
    case .rotate(let axes): "rotate(\(axes))"
    case .attention(let scale): "attention(\(scale))"
    case .cachedAttention(let scale, let window):
      "cachedAttention(\(scale), window \(window.map(String.init) ?? "none"))"
    case .bandedAttention(let window, let cap): "bandedAttention(window \(window), cap \(cap))"
    case .maskedAttention(let scale): "maskedAttention(\(scale))"
    case .attentionMask(let queries, let past, let new, let window):
      "attentionMask(\(queries) queries, \(past) + \(new) keys, "
        + "window \(window.map(String.init) ?? "none"))"
    case .countMask(let rows): "countMask(\(rows))"
    case .cacheUpdate: "cacheUpdate"
    case .gather: "gather"
    case .reshape(let shape): "reshape\(shape)"
    case .transpose(let permutation): "transpose\(Shape(permutation))"
    case .slice(let axis, let start, let count): "slice(axis \(axis), \(start)..<\(start + count))"
    case .concat(let axis): "concat(axis \(axis))"
    case .pad(let axis, let before, let after): "pad(axis \(axis), \(before), \(after))"
    case .conv2D(let stride, let padding): "conv2D(stride \(stride), padding \(padding))"
    case .causalDepthwiseConv: "causalDepthwiseConv"
    }
  }

  /// The operation's name without attributes, as rules and audits use it.
  public var kind: String { String(text.prefix { $0.isLetter || $0.isNumber }) }
}

extension Graph: CustomStringConvertible {
  /// One line a node: `%7 = linear %3 %6 : f32[9x64]  layers.0.q_proj`.
  public var description: String {
    var lines = ["graph \(name)"]
    for node in nodes {
      let operands = node.inputs.map { " %\($0)" }.joined()
      lines.append("  %\(node.id) = \(node.op.text)\(operands) : \(node.type)  \(node.name)")
    }
    for output in outputs {
      lines.append("  return \(output.isState ? "state " : "")\(output.name) = %\(output.node)")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
