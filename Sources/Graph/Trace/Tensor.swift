/// A value in a program that is being traced.
public struct Tensor {
  let node: Int
  /// Its format and extents.
  public let type: TensorType
  let tracer: Tracer

  /// Its extents, outermost first.
  public var shape: Shape { type.shape }

  private func apply(_ op: Op, _ others: Tensor..., as label: String? = nil) -> Tensor {
    tracer.append(op, [self] + others, as: label)
  }

  /// `self · weightᵀ (+ bias)`.
  public func linear(_ weight: Tensor, bias: Tensor? = nil, as label: String? = nil) -> Tensor {
    tracer.append(.linear, [self, weight] + (bias.map { [$0] } ?? []), as: label)
  }

  /// Root-mean-square norm along the innermost axis, weighted where a weight is given.
  public func rmsNorm(_ weight: Tensor? = nil, epsilon: Float, as label: String? = nil) -> Tensor {
    tracer.append(.rmsNorm(epsilon: epsilon), [self] + (weight.map { [$0] } ?? []), as: label)
  }

  /// Layer norm along the innermost axis, with weight and without bias.
  public func layerNorm(_ weight: Tensor, epsilon: Float) -> Tensor {
    apply(.layerNorm(epsilon: epsilon), weight)
  }

  /// The tanh form of GELU.
  public func gelu() -> Tensor { apply(.unary(.gelu)) }
  /// `x · sigmoid(x)`.
  public func silu() -> Tensor { apply(.unary(.silu)) }
  /// Logistic function.
  public func sigmoid() -> Tensor { apply(.unary(.sigmoid)) }
  /// `max(x, 0)`.
  public func relu() -> Tensor { apply(.unary(.relu)) }
  /// `log(1 + exp x)`.
  public func softplus() -> Tensor { apply(.unary(.softplus)) }
  /// `cap · tanh(x / cap)`.
  public func softcap(_ cap: Float) -> Tensor { apply(.softcap(cap)) }
  /// `min(max(x, lower), upper)`.
  public func clamped(_ lower: Float, _ upper: Float) -> Tensor {
    apply(.clamp(lower: lower, upper: upper))
  }
  /// `scale · x + offset`.
  public func affine(_ scale: Float, _ offset: Float = 0) -> Tensor {
    apply(.affine(scale: scale, offset: offset))
  }
  /// The same values in another dense format.
  public func cast(_ dtype: DType) -> Tensor { type.dtype == dtype ? self : apply(.cast(dtype)) }

  /// Sum, broadcast.
  public static func + (left: Tensor, right: Tensor) -> Tensor { left.apply(.binary(.add), right) }
  /// Difference, broadcast.
  public static func - (left: Tensor, right: Tensor) -> Tensor {
    left.apply(.binary(.subtract), right)
  }
  /// Product, broadcast.
  public static func * (left: Tensor, right: Tensor) -> Tensor {
    left.apply(.binary(.multiply), right)
  }
  /// Product with a number.
  public static func * (left: Tensor, right: Float) -> Tensor { left.affine(right) }

  /// Folds one axis, which disappears.
  public func reduced(_ reduction: Reduction, axis: Int) -> Tensor {
    apply(.reduce(reduction, axis: axis))
  }
  /// The same elements in another shape.
  public func reshaped(_ shape: Shape) -> Tensor {
    shape == self.shape ? self : apply(.reshape(shape))
  }
  /// Axes reordered.
  public func transposed(_ permutation: [Int]) -> Tensor { apply(.transpose(permutation)) }
  /// `count` entries of one axis from `start`.
  public func sliced(axis: Int, start: Int, count: Int) -> Tensor {
    start == 0 && count == shape[axis]
      ? self : apply(.slice(axis: axis, start: start, count: count))
  }
  /// Zeros before and after one axis.
  public func padded(axis: Int, before: Int = 0, after: Int = 0) -> Tensor {
    apply(.pad(axis: axis, before: before, after: after))
  }
  /// Rows chosen by ids; ids outside the table give zeros.
  public func gathered(_ ids: Tensor, as label: String? = nil) -> Tensor {
    apply(.gather, ids, as: label)
  }

  /// Cosines and sines of `self` (positions `[T, A]`) for rotary embeddings.
  public func rotaryTable(_ inverseFrequency: Tensor) -> Tensor {
    apply(.rotaryTable, inverseFrequency)
  }
  /// `[T, H, E]` rotated by a table from `rotaryTable`.
  public func rotated(by table: Tensor, axes: Int = 1) -> Tensor {
    apply(.rotate(axes: axes), table)
  }
  /// Attention of `self [T, H, E]` over all keys, or the first `count`.
  public func attention(
    over keys: Tensor,
    _ values: Tensor,
    count: Tensor? = nil,
    scale: Float = 1
  ) -> Tensor {
    tracer.append(
      .attention(scale: scale),
      [self, keys, values] + (count.map { [$0] } ?? [])
    )
  }
  /// Causal attention over a cache and this step's rows; see `Op.cachedAttention`.
  public func attention(
    past: (keys: Tensor, values: Tensor),
    new: (keys: Tensor, values: Tensor),
    queryPosition: Tensor,
    position: Tensor,
    blocks: Tensor? = nil,
    window: Int?,
    scale: Float = 1
  ) -> Tensor {
    tracer.append(
      .cachedAttention(scale: scale, window: window),
      [self, past.keys, past.values, new.keys, new.values, queryPosition, position]
        + (blocks.map { [$0] } ?? [])
    )
  }
  /// Local attention with relative positions; see `Op.bandedAttention`.
  public func attention(
    banded keys: Tensor,
    _ values: Tensor,
    relative: Tensor,
    count: Tensor,
    window: Int,
    softcap: Float
  ) -> Tensor {
    apply(.bandedAttention(window: window, softcap: softcap), keys, values, relative, count)
  }
  /// `self` (a cache) with the first `count` rows of `rows` written from `position` on.
  public func updated(with rows: Tensor, position: Tensor, count: Tensor) -> Tensor {
    apply(.cacheUpdate, rows, position, count)
  }
  /// Two-dimensional convolution, channels last.
  public func conv2D(_ weight: Tensor, stride: Int, padding: Int) -> Tensor {
    apply(.conv2D(stride: stride, padding: padding), weight)
  }
  /// Depthwise convolution over rows that sees only earlier ones.
  public func causalDepthwiseConv(_ weight: Tensor) -> Tensor {
    apply(.causalDepthwiseConv, weight)
  }
}
