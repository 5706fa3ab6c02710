import CKernels
import Graph

/// Where a node's result lies while a program runs.
enum Place: Hashable {
  /// In the arena.
  case arena(offset: Int)
  /// In the value bound by this name.
  case bound(String)
  /// In memory that lives as long as the program.
  case constant(UnsafeMutableRawPointer)
}

/// A segment as steps over placed values.
struct LoweredProgram: @unchecked Sendable {
  let graph: Graph
  let steps: [any CPUStep]
  /// For each step the linear layer whose weights are read next, where it begins one.
  let expected: [LinearStep?]
  /// The first linear layer that reads its weights as they lie, and the last step that is one.
  let firstLinear: LinearStep?
  let lastLinear: Int?
  let places: [Place?]
  /// Bytes from a node's place to its first element: views start inside other values.
  let offsets: [Int]
  let footprint: Footprint
  /// Results that have to be copied out because they lie elsewhere.
  let copies: [(node: Int, output: String)]
  /// Keeps constants alive.
  let constants: [Buffer]
  let source: (any WeightSource)?

  func run(
    in arena: UnsafeMutableRawPointer,
    _ bindings: [String: Value],
    pool: WorkerPool
  ) {
    let pointers = places.enumerated().map { index, place -> UnsafeMutableRawPointer? in
      switch place {
      case .arena(let offset): arena + offset + offsets[index]
      case .bound(let name): bindings[name].map { $0.pointer + offsets[index] }
      case .constant(let pointer): pointer + offsets[index]
      case nil: nil
      }
    }
    let frame = Frame(pointers: pointers, arena: arena, pool: pool)
    let follower = pool.begin(with: firstLinear?.matrix(frame))
    for (index, step) in steps.enumerated() {
      if index == lastLinear {
        pool.expect(follower)
      } else if let next = expected[index] {
        pool.expect(next.matrix(frame))
      }
      step.run(frame)
    }
    for copy in copies {
      guard let target = bindings[copy.output] else { continue }
      target.pointer.copyMemory(
        from: frame.raw(copy.node),
        byteCount: target.type.byteCount
      )
    }
  }
}

/// The memory of one launch.
struct Frame {
  let pointers: [UnsafeMutableRawPointer?]
  let arena: UnsafeMutableRawPointer
  let pool: WorkerPool

  func raw(_ node: Int) -> UnsafeMutableRawPointer { pointers[node] ?? arena }

  func floats(_ node: Int) -> UnsafeMutablePointer<Float> {
    raw(node).assumingMemoryBound(to: Float.self)
  }

  func integers(_ node: Int) -> UnsafeMutablePointer<Int32> {
    raw(node).assumingMemoryBound(to: Int32.self)
  }
}

/// One thing the processor does during a launch.
protocol CPUStep {
  /// The node whose result it makes last.
  var node: Int { get }
  /// Nodes it makes.
  var results: [Int] { get }
  /// Scratch bytes it needs while it runs.
  func scratchByteCount(_ pool: WorkerPool) -> Int
  /// Where its scratch lies in the arena; set when memory has been planned.
  var scratchOffset: Int { get set }
  func run(_ frame: Frame)
}

extension CPUStep {
  var results: [Int] { [node] }
  func scratchByteCount(_ pool: WorkerPool) -> Int { 0 }
}
