import Graph

/// The clamp around one projection of a tower; ranges that are infinite change nothing.
public struct ClipBounds: Hashable, Sendable {
  /// Range of the input.
  public let input: ClosedRange<Float>
  /// Range of the output.
  public let output: ClosedRange<Float>

  /// Bounds from their parts.
  public init(input: ClosedRange<Float>, output: ClosedRange<Float>) {
    self.input = input
    self.output = output
  }

  /// Bounds that change nothing.
  public static let none = ClipBounds(
    input: -Float.infinity...Float.infinity,
    output: -Float.infinity...Float.infinity
  )
}

/// Clip bounds by the name of their projection, read from a checkpoint once.
public typealias ClipTable = [String: ClipBounds]

extension Tensor {
  func clipped(to range: ClosedRange<Float>) -> Tensor {
    range == ClipBounds.none.input ? self : clamped(range.lowerBound, range.upperBound)
  }

  /// `clamp(W clamp(x))`, as the towers' projections do.
  func clippedLinear(
    _ name: String,
    _ width: Int,
    clips: ClipTable,
    tracer: Tracer
  ) -> Tensor {
    let bounds = clips[name] ?? .none
    let weight = tracer.weight(name + ".linear.weight", [width, shape.last])
    return clipped(to: bounds.input).linear(weight, as: name.leaf).clipped(to: bounds.output)
  }
}
