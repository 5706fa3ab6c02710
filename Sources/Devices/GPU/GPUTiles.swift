/// Sizes of the tiles that product kernels work in.
///
/// No result depends on them: every sum goes along the depth in one order.
struct GPUTiles: Hashable, Codable, Sendable {
  /// A tile held by one subgroup: rows, and columns as the shader counts them.
  struct Size: Hashable, Codable, Sendable {
    let rows: Int
    /// Columns of each of 8 lanes; of products by rows side by side, fours of them.
    let columns: Int
  }

  /// Products with packed weights, whose 64 columns are those of the packing.
  var weighted = Size(rows: 32, columns: 8)
  /// Products of values whose depths lie side by side.
  var transposed = Size(rows: 24, columns: 8)
  /// Products of values whose columns lie side by side.
  var plain = Size(rows: 24, columns: 2)
  /// Rows of a workgroup's tile in shared memory, beside 64 columns.
  var shared = 64

  /// Rows of a register tile for a number of rows.
  func rows(of count: Int, in size: Size) -> Int {
    let sizes = [1, 2, 4, 8, 16, 24].filter { $0 < size.rows }
    return sizes.first { count <= $0 } ?? size.rows
  }

  /// Rows of a tile in shared memory for a number of rows.
  func sharedRows(of count: Int) -> Int {
    [16, 32].first { count <= $0 } ?? shared
  }
}

extension GPUTiles {
  /// A kernel whose tile is chosen, with what it is chosen from, the usual size first.
  struct Choice: Sendable {
    /// Which product shows how fast a size is.
    enum Kernel: Sendable { case weighted, transposed, plain }

    let kernel: Kernel
    let candidates: [GPUTiles]

    init<Value>(
      _ kernel: Kernel,
      _ path: WritableKeyPath<GPUTiles, Value>,
      _ others: [Value]
    ) {
      self.kernel = kernel
      candidates =
        [GPUTiles()]
        + others.map { size in
          var tiles = GPUTiles()
          tiles[keyPath: path] = size
          return tiles
        }
    }
  }

  /// What a family of kernels leaves open.
  static func choices(_ family: GPUOptions.Family) -> [Choice] {
    switch family {
    case .texels:
      let (tall, low, narrow) = (
        Size(rows: 32, columns: 8), Size(rows: 16, columns: 8), Size(rows: 24, columns: 4)
      )
      return [
        Choice(.weighted, \.weighted, [Size(rows: 24, columns: 8), low]),
        Choice(.transposed, \.transposed, [tall, low, narrow]),
        Choice(
          .plain,
          \.plain,
          [Size(rows: 16, columns: 2), Size(rows: 32, columns: 1), Size(rows: 24, columns: 1)]
        ),
      ]
    case .tiles: return [Choice(.weighted, \.shared, [32])]
    }
  }

  /// The sizes of one kernel taken over from a candidate.
  func taking(_ kernel: Choice.Kernel, from other: GPUTiles) -> GPUTiles {
    var tiles = self
    switch kernel {
    case .weighted: (tiles.weighted, tiles.shared) = (other.weighted, other.shared)
    case .transposed: tiles.transposed = other.transposed
    case .plain: tiles.plain = other.plain
    }
    return tiles
  }

  /// Whether these are sizes that a family offers.
  func isOffered(_ family: GPUOptions.Family) -> Bool {
    Self.choices(family).reduce([GPUTiles()]) { known, choice in
      known.flatMap { tiles in choice.candidates.map { tiles.taking(choice.kernel, from: $0) } }
    }
    .contains(self)
  }

  /// The place of the shortest time; the first unless another is at least a twentieth shorter.
  static func place(ofShortest times: [Int]) -> Int {
    let best = times.indices.min { times[$0] < times[$1] } ?? 0
    guard best != 0, let first = times.first else { return 0 }
    return times[best] <= first - first / 20 ? best : 0
  }
}
