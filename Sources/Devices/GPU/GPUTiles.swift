/// Sizes of the tiles that product kernels work in.
///
/// No result depends on them, as every sum goes along the depth in one order; but cooperative
/// matrices add in an order of the device's.
struct GPUTiles: Hashable, Codable, Sendable {
  /// A tile held by one subgroup: rows, and columns as the shader counts them.
  struct Size: Hashable, Codable, Sendable {
    let rows: Int
    /// Columns of each lane; of products by rows side by side, fours of them.
    let columns: Int
  }

  /// A tile in shared memory: some rows and 64 columns.
  struct Shared: Hashable, Codable, Sendable {
    let rows: Int
    /// Whether products with weights in f16 multiply cooperative matrices.
    var usesMatrices = false
  }

  /// Bytes that a workgroup with cooperative matrices shares at most.
  static let matrixSharedByteCount = 28 << 10

  /// Products with packed weights, whose columns are those of the packing.
  var weighted: Size
  /// Products of values whose depths lie side by side.
  var transposed: Size
  /// Products of values whose columns lie side by side.
  var plain: Size
  /// Tiles of a workgroup in shared memory.
  var shared = Shared(rows: 64)

  /// Sizes of subgroups that tiles held by one are made for.
  static let lanes = [8, 16]

  /// The usual sizes for subgroups of some lanes.
  init(lanes: Int = 8) {
    weighted = Size(rows: 32, columns: 8)
    transposed = Size(rows: lanes == 8 ? 24 : 32, columns: 8)
    plain = lanes == 8 ? Size(rows: 24, columns: 2) : Size(rows: 32, columns: 1)
  }

  /// Rows of a register tile for a number of rows: few, or a multiple of the lanes.
  func rows(of count: Int, in size: Size, lanes: Int) -> Int {
    let sizes = [1, 2, 4, 8, 16, 24].filter {
      $0 < size.rows && ($0 < lanes || $0 % lanes == 0)
    }
    return sizes.first { count <= $0 } ?? size.rows
  }

  /// Rows of a tile in shared memory for a number of rows.
  func sharedRows(of count: Int) -> Int {
    [16, 32].first { count <= $0 } ?? shared.rows
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
      _ others: [Value],
      lanes: Int
    ) {
      self.kernel = kernel
      candidates =
        [GPUTiles(lanes: lanes)]
        + others.map { size in
          var tiles = GPUTiles(lanes: lanes)
          tiles[keyPath: path] = size
          return tiles
        }
    }
  }

  /// What a family of kernels leaves open on subgroups of some lanes.
  static func choices(
    _ family: GPUOptions.Family,
    lanes: Int,
    hasMatrices: Bool = false
  ) -> [Choice] {
    func size(_ rows: Int, _ columns: Int) -> Size { Size(rows: rows, columns: columns) }
    switch (family, lanes) {
    case (.tiles, _):
      let matrices = [64, 32].map { Shared(rows: $0, usesMatrices: true) }
      let others = [Shared(rows: 32)] + (hasMatrices ? matrices : [])
      return [Choice(.weighted, \.shared, others, lanes: lanes)]
    case (.texels, 16):
      return [
        Choice(.weighted, \.weighted, [size(16, 8)], lanes: 16),
        Choice(.transposed, \.transposed, [size(16, 8), size(32, 4)], lanes: 16),
        Choice(.plain, \.plain, [size(16, 1), size(16, 2), size(32, 2)], lanes: 16),
      ]
    case (.texels, _):
      return [
        Choice(.weighted, \.weighted, [size(24, 8), size(16, 8)], lanes: lanes),
        Choice(.transposed, \.transposed, [size(32, 8), size(16, 8), size(24, 4)], lanes: lanes),
        Choice(.plain, \.plain, [size(16, 2), size(32, 1), size(24, 1)], lanes: lanes),
      ]
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

  /// Whether these are a mix of what is left open.
  func isOffered(by choices: [Choice], lanes: Int) -> Bool {
    choices.reduce([GPUTiles(lanes: lanes)]) { known, choice in
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
