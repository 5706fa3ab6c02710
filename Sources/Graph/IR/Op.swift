/// What a node computes.
///
/// A closed set: adding a case makes the compiler list the work it brings.
///
/// Inputs are named in each case's comment, in order. Every float operation keeps the format of its
/// first input unless it says otherwise.
public enum Op: Hashable, Sendable {
  /// A value given when the graph is launched. No inputs.
  case input
  /// A value known when the graph is compiled. No inputs.
  case constant(Constant)

  // Elementwise
  /// One function of `x`.
  case unary(Unary)
  /// One function of `a` and `b`, broadcast.
  case binary(Binary)
  /// `scale * x + offset`.
  case affine(scale: Float, offset: Float)
  /// `min(max(x, lower), upper)`.
  case clamp(lower: Float, upper: Float)
  /// `cap * tanh(x / cap)`.
  case softcap(Float)
  /// `x` in another dense format, rounded to nearest even.
  case cast(DType)
  /// `gelu(gate) * up` of `gate` and `up`; made by fusion, never by a model.
  case gatedGelu

  // Matrix products
  /// `x · Wᵀ (+ bias)` of `x [..., K]`, `W [N, K]` and perhaps `bias [N]`.
  case linear
  /// `a · b` of `a [..., M, K]` and `b [..., K, N]`, or `b [..., N, K]` where transposed.
  case matmul(transposeRight: Bool)

  // Along the innermost axis
  /// `x · (mean(x²) + ε)^-½ (· weight)` of `x` and perhaps `weight`, sums in f32 or wider.
  case rmsNorm(epsilon: Float)
  /// `(x - mean) · (variance + ε)^-½ · weight` of `x` and `weight`.
  case layerNorm(epsilon: Float)
  /// `exp(x - max) / sum` of `x`.
  case softmax
  /// The first index of the largest value of each row, i32.
  case argmax
  /// Sum, mean or maximum of `x` over one axis, which disappears.
  case reduce(Reduction, axis: Int)

  // Rotary positions
  /// Cosines and sines of `positions [T, A]` i32 times `inverseFrequency [F]`: `f32 [T, A·2F]`,
  /// for each of the A axes F cosines, then F sines.
  case rotaryTable
  /// `x [T, H, E]` with each of `axes` equal parts of E rotated in half-split pairs by
  /// `table [T, E]`.
  case rotate(axes: Int)

  // Attention
  /// Softmax attention of `q [T, H, E]` over `k [S, G, E]`, `v [S, G, E]`, and perhaps `count [1]`
  /// i32: keys from that index on are hidden. H is a multiple of G.
  case attention(scale: Float)
  /// Causal attention over a cache of the past and the rows of this step.
  /// Inputs: `q [Q, H, E]`, `pastK [R, G, E]`, `pastV`, `newK [T, G, E]`, `newV`,
  /// `queryPosition [1]` i32 of the first query, `position [1]` i32 of the first new row, and
  /// perhaps `blocks [T]` i32: new rows with the same number above 0 see each other.
  /// Cache row r holds the latest position below `position` that is r modulo R.
  case cachedAttention(scale: Float, window: Int?)
  /// Local attention with relative positions, as in the audio tower: query t sees the keys
  /// `j` with `0 <= t - j < window`; inputs `q`, `k`, `v [T, H, E]`, `relative [window + 1, H, E]`
  /// for distances 0..., and `count [1]` i32. Scores are soft-capped.
  case bandedAttention(window: Int, softcap: Float)

  /// Softmax attention with a mask that is added to the scores, all in one operation.
  /// Inputs: `q [Q, H, E]`, `k [S, G, E]`, `v`, `mask [Q, S]` or `[S]`; or `q`, `pastK [R, G, E]`,
  /// `pastV`, `newK [T, G, E]`, `newV`, `mask` with S = R + T, keys of the past first.
  case maskedAttention(scale: Float)

  /// What a query of `cachedAttention` must not see, as numbers to add to its scores: 0 or
  /// -32768, which f16 holds with room for a score.
  ///
  /// Inputs `queryPosition [1]`, `position [1]` and perhaps `blocks [new]`, i32; result
  /// `f32 [queries, past + new]`, keys of the ring first.
  case attentionMask(queries: Int, past: Int, new: Int, window: Int?)
  /// `f32 [rows]`: 0 for the first `count [1]`, -32768 behind them.
  case countMask(rows: Int)

  // State
  /// `cache [R, G, E]` with the first `count [1]` rows of `new [T, G, E]` written at
  /// `position [1]`, `position + 1`, … modulo R.
  case cacheUpdate

  // Rows and axes
  /// Rows of `table [V, ...]` chosen by `ids [T]` i32; an id outside the table gives zeros.
  /// The result is f32.
  case gather
  /// The same elements in another shape.
  case reshape(Shape)
  /// Axes reordered: result axis i is operand axis `permutation[i]`.
  case transpose([Int])
  /// `count` entries of one axis from `start`.
  case slice(axis: Int, start: Int, count: Int)
  /// Operands one after the other along one axis.
  case concat(axis: Int)
  /// Zeros added before and after one axis.
  case pad(axis: Int, before: Int, after: Int)

  // Convolution
  /// `x [H, W, C]`, `weight [O, C, kh, kw]`: `[H', W', O]`, zero padding on all sides.
  case conv2D(stride: Int, padding: Int)
  /// `x [T, C]`, `weight [C, 1, K]`: each channel by itself, seeing itself and K - 1 rows before.
  case causalDepthwiseConv
}

/// A value known when a graph is compiled.
public enum Constant: Hashable, Sendable {
  /// A named tensor of the weight source.
  case weight(String)
  /// Numbers that belong to the graph itself, row-major.
  case literal([Float])
}

/// Functions of one number.
public enum Unary: String, Hashable, Sendable, CaseIterable {
  /// `x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
  case gelu
  /// `x · sigmoid(x)`.
  case silu
  /// `1 / (1 + exp(-x))`.
  case sigmoid
  /// `max(x, 0)`.
  case relu
  /// Hyperbolic tangent.
  case tanh
  /// `log(1 + exp(x))`.
  case softplus
  /// Natural exponential.
  case exp
}

/// Functions of two numbers.
public enum Binary: String, Hashable, Sendable, CaseIterable {
  /// Sum.
  case add
  /// Difference.
  case subtract
  /// Product.
  case multiply
  /// Quotient.
  case divide
  /// Larger value; NaN where either is.
  case maximum
  /// Smaller value; NaN where either is.
  case minimum
}

/// Ways to fold an axis.
public enum Reduction: String, Hashable, Sendable, CaseIterable {
  /// Sum of the entries.
  case sum
  /// Sum divided by the extent.
  case mean
  /// Largest entry.
  case maximum
}
