import Graph

/// Times the product kernels of a device in the tile sizes they offer.
struct GPUTuning {
  let context: GPUContext
  let compile: (Graph, any WeightSource) throws -> GPUExecutable

  /// Launches of which the shortest counts, after one in which the driver compiles.
  private static let launches = 4

  /// The sizes that take the shortest time, of which cooperative matrices first have to be right.
  ///
  /// - Throws: where a product does not run.
  func fastest() throws -> GPUTiles {
    defer { context.tiles = GPUTiles(lanes: context.lanes) }
    var best = GPUTiles(lanes: context.lanes)
    for choice in context.tileChoices {
      let timed = try times(choice)
      let fastest = timed[GPUTiles.place(ofShortest: timed.map(\.nanoseconds))]
      best = best.taking(choice.kernel, from: fastest.tiles)
    }
    return best
  }

  /// What each candidate of a choice takes, without those that are wrong.
  func times(_ choice: GPUTiles.Choice) throws -> [(tiles: GPUTiles, nanoseconds: Int)] {
    try choice.candidates.compactMap { tiles in
      context.tiles = tiles
      guard try !tiles.shared.usesMatrices || isRight() else { return nil }
      return (tiles, try Self.nanoseconds(choice.kernel, compile))
    }
  }

  /// Whether the self-test's products with weights hold with the sizes that are set.
  private func isRight() throws -> Bool {
    try GPUSelfTest().failures(ofKind: "linear", compile).isEmpty
  }

  private static func nanoseconds(
    _ kernel: GPUTiles.Choice.Kernel,
    _ compile: (Graph, any WeightSource) throws -> GPUExecutable
  ) throws -> Int {
    let problem = try problem(kernel)
    let executable = try compile(problem.graph, problem.weights)
    let times = try (0...launches).map { _ in
      try executable.profile(problem.inputs).reduce(0) { sum, dispatch in
        sum + (dispatch.shader.isProduct ? dispatch.nanoseconds : 0)
      }
    }
    return times.dropFirst().min() ?? 0
  }

  /// A product of 0.1 GFLOP, or 0.05, whose rows are a multiple of every tile's.
  private static func problem(
    _ kernel: GPUTiles.Choice.Kernel
  ) throws -> (graph: Graph, weights: GPUSelfTestWeights, inputs: [String: Value]) {
    let weights = GPUSelfTestWeights()
    var builder = GPUSelfTestBuilder(name: "tuning", weights: weights)
    let product: Int
    switch kernel {
    case .weighted:
      let operands = [try builder.numbers([192, 512]), try builder.weight(.f16, [512, 512])]
      product = try builder.graph.append(.linear, operands, name: "product")
    case .transposed:
      let operands = [try builder.numbers([4, 192, 64]), try builder.numbers([4, 512, 64])]
      product = try builder.graph.append(
        .matmul(transposeRight: true),
        operands,
        name: "product"
      )
    case .plain:
      let operands = [try builder.numbers([4, 192, 512]), try builder.numbers([4, 512, 64])]
      product = try builder.graph.append(
        .matmul(transposeRight: false),
        operands,
        name: "product"
      )
    }
    builder.graph.addOutput("result", product)
    return (builder.graph, weights, builder.inputs)
  }
}
