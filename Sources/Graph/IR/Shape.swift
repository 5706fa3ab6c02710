/// The extents of a tensor, outermost first.
///
/// Every extent is known when a graph is made.
public struct Shape: Hashable, Sendable, ExpressibleByArrayLiteral, CustomStringConvertible {
  /// The extents, outermost first.
  public let extents: [Int]

  /// A shape with these extents, outermost first.
  public init(_ extents: [Int]) { self.extents = extents }

  /// A shape with these extents, outermost first.
  public init(arrayLiteral elements: Int...) { extents = elements }

  /// The number of axes; 0 for a scalar.
  public var rank: Int { extents.count }

  /// The product of all extents; 1 for a scalar.
  public var elementCount: Int { extents.reduce(1, *) }

  /// The innermost extent; 1 for a scalar.
  public var last: Int { extents.last ?? 1 }

  /// The product of all extents but the innermost.
  public var rowCount: Int { extents.dropLast().reduce(1, *) }

  /// The extent of one axis; negative axes count from the innermost.
  ///
  /// - Precondition: the axis exists.
  public subscript(axis: Int) -> Int { extents[axis < 0 ? axis + extents.count : axis] }

  /// This shape with the innermost extent replaced.
  public func replacingLast(with extent: Int) -> Shape { Shape(extents.dropLast() + [extent]) }

  /// This shape with the outermost extent replaced.
  public func replacingFirst(with extent: Int) -> Shape { Shape([extent] + extents.dropFirst()) }

  /// The extents separated by `x`, in brackets.
  public var description: String { "[" + extents.map(String.init).joined(separator: "x") + "]" }

  /// The shape both operands broadcast to (axes aligned at the innermost, extents equal or 1).
  ///
  /// - Returns: nil where they do not fit.
  public func broadcast(with other: Shape) -> Shape? {
    let rank = max(self.rank, other.rank)
    var result: [Int] = []
    for axis in 0..<rank {
      let mine = axis - (rank - self.rank)
      let theirs = axis - (rank - other.rank)
      let left = mine < 0 ? 1 : extents[mine]
      let right = theirs < 0 ? 1 : other.extents[theirs]
      guard left == right || left == 1 || right == 1 else { return nil }
      result.append(max(left, right))
    }
    return Shape(result)
  }
}
