import CKernels
import Graph

/// Turns a segment into steps: views cost nothing, row operations that follow each other run as
/// one loop, elementwise results take the place of operands that nothing reads any more.
struct CPULowering {
  private let graph: Graph
  /// Where constants come from; nil where only the layout is wanted.
  private let source: (any WeightSource)?
  private let pool: WorkerPool
  private let rounding: HalfRounding?
  /// Where overflows of f16 stores are counted that no rounding counts.
  private let stores: HealthRecord?
  private var constants: [Buffer] = []
  private var constantByteCount = 0
  private var convertedWeights: [String: Int] = [:]
  private var places: [Place?]
  private var offsets: [Int]
  /// The node whose memory a view shares.
  private var bases: [Int]
  private var steps: [any CPUStep] = []

  init(
    _ graph: Graph,
    over source: (any WeightSource)?,
    pool: WorkerPool,
    rounding: HalfRounding? = nil,
    stores: HealthRecord? = nil
  ) throws {
    self.rounding = rounding
    self.stores = stores
    self.graph = graph
    self.source = source
    self.pool = pool
    places = Array(repeating: nil, count: graph.nodes.count)
    offsets = Array(repeating: 0, count: graph.nodes.count)
    bases = Array(graph.nodes.indices)
    for node in graph.nodes { try lower(node) }
    placeOutputs()
  }

  private mutating func lower(_ node: Node) throws {
    switch node.op {
    case .input: places[node.id] = .bound(node.name)
    case .constant: try bind(node)
    case .cast(.f16) where graph.isConstant(node.inputs[0]): try halve(node)
    default:
      if let offset = viewOffset(node) {
        bases[node.id] = bases[node.inputs[0]]
        offsets[node.id] = offsets[node.inputs[0]] + offset
        places[node.id] = places[node.inputs[0]]
      } else {
        append(try CPUSteps.make(node, in: graph, rounding: rounding, stores: stores))
      }
    }
  }

  /// Constants of matrix products and gathers stay where they are mapped; all others are small and
  /// become f32.
  private mutating func bind(_ node: Node) throws {
    switch node.op {
    case .constant(.literal(let values)): try own(node) { values }
    case .constant(.weight(let name)):
      // What is only read as f16 is converted where the cast stands.
      let readers = graph.nodes.filter { $0.inputs.contains(node.id) }
      if !readers.isEmpty, readers.allSatisfy({ $0.op == .cast(.f16) }) { return }
      if node.type.dtype != .f32, !graph.readsAsMatrix(node.id) {
        try own(node) { [self] in try decoded(name, node.type) }
        return
      }
      places[node.id] =
        try source.map { source in
          guard let mapped = try source.bytes(of: name).baseAddress else { return unboundPlace }
          return .constant(UnsafeMutableRawPointer(mutating: mapped))
        } ?? unboundPlace
    default: break
    }
  }

  /// A constant in f16: a matrix as it is stored, anything else as the f32 numbers f16 keeps.
  private mutating func halve(_ node: Node) throws {
    let original = graph.nodes[node.inputs[0]]
    switch original.op {
    case .constant(.weight(let name)) where graph.readsAsMatrix(node.id):
      convertedWeights[name] = node.type.byteCount
      guard let source, let halves = rounding?.weights else {
        places[node.id] = unboundPlace
        return
      }
      let buffer = try halves.buffer(name, original.type, of: source)
      constants.append(buffer)
      places[node.id] = .constant(buffer.pointer)
    case .constant(.weight(let name)):
      try own(node) { [self] in
        try decoded(name, original.type).map { ElementCoding.rounded($0, to: .f16) }
      }
    case .constant(.literal(let values)) where graph.readsAsMatrix(node.id):
      let buffer = try Buffer(byteCount: node.type.byteCount)
      ElementCoding.encode(values, .f16, to: buffer.pointer)
      constants.append(buffer)
      places[node.id] = .constant(buffer.pointer)
    case .constant(.literal(let values)):
      try own(node) { values.map { ElementCoding.rounded($0, to: .f16) } }
    default: break
    }
  }

  /// A constant as f32 numbers in memory of the program's own.
  private mutating func own(_ node: Node, _ values: () throws -> [Float]) throws {
    constantByteCount += node.type.shape.elementCount * 4
    guard source != nil else {
      places[node.id] = unboundPlace
      return
    }
    let value = try Value(values(), node.type.shape)
    constants.append(value.buffer)
    places[node.id] = .constant(value.pointer)
  }

  private func decoded(_ name: String, _ type: TensorType) throws -> [Float] {
    guard let mapped = try source?.bytes(of: name).baseAddress else { return [] }
    return ElementCoding.decode(mapped, type)
  }

  /// Stands for a constant's memory where only the layout is wanted.
  private let unboundPlace = Place.bound("")

  /// Bytes into its operand at which a node's result already lies, or nil where it is computed.
  private func viewOffset(_ node: Node) -> Int? {
    switch node.op {
    case .reshape: return 0
    case .cast(.f32) where graph.isConstant(node.inputs[0]): return 0
    // Storing as f16 and loading again is one step, the load's.
    case .cast(.f16) where rounding != nil && graph.isOnlyLoaded(node.id): return 0
    case .slice(let axis, let start, _) where axis == 0:
      let operand = graph.nodes[node.inputs[0]].type
      return start * operand.dtype.byteCount(of: operand.shape.replacingFirst(with: 1))
    default: return nil
    }
  }

  /// Adds a step, joining it to the loop before it where both go over the same rows.
  private mutating func append(_ step: any CPUStep) {
    if let row = step as? RowStep, var loop = steps.last as? RowLoop,
      loop.accepts(row, bases: bases)
    {
      loop.append(row)
      steps[steps.count - 1] = loop
    } else if let row = step as? RowStep {
      steps.append(RowLoop(row))
    } else {
      steps.append(step)
    }
  }

  private mutating func placeOutputs() {
    for output in graph.outputs
    where places[output.node] == nil && bases[output.node] == output.node {
      places[output.node] = .bound(output.name)
    }
    // Views of results follow their base, wherever it went.
    for node in graph.nodes where bases[node.id] != node.id {
      places[node.id] = places[bases[node.id]]
    }
  }

  /// What the program takes of memory.
  var footprint: Footprint { footprint(layout(of: ordered)) }

  private func footprint(_ layout: Layout) -> Footprint {
    var footprint = Footprint()
    footprint.arenaByteCount = layout.byteCount
    footprint.constantByteCount = constantByteCount
    footprint.convertedWeights = convertedWeights
    return footprint
  }

  /// The steps in the order in which they run: caches are written last.
  private var ordered: [any CPUStep] {
    steps.filter { !($0 is CacheUpdateStep) } + steps.filter { $0 is CacheUpdateStep }
  }

  /// The program with every value placed.
  func finish() -> LoweredProgram {
    var ordered = ordered
    var places = self.places
    let layout = layout(of: ordered)
    for (node, offset) in layout.offsets { places[node] = .arena(offset: offset) }
    for node in graph.nodes where bases[node.id] != node.id && places[node.id] == nil {
      places[node.id] = places[bases[node.id]]
    }
    for index in ordered.indices { ordered[index].scratchOffset = layout.scratch[index] ?? 0 }
    let copies = graph.outputs.filter {
      places[$0.node] != .bound($0.name) || offsets[$0.node] != 0
    }
    let linears = ordered.indices.filter { ordered[$0] is LinearStep }
    return LoweredProgram(
      graph: graph,
      steps: ordered,
      expected: LinearStep.successors(in: ordered),
      firstLinear: linears.first.flatMap { (ordered[$0] as? LinearStep)?.readingAsStored },
      lastLinear: linears.last,
      places: places,
      offsets: offsets,
      footprint: footprint(layout),
      copies: copies.map { ($0.node, $0.name) },
      constants: constants,
      source: source
    )
  }

  private typealias Layout = (offsets: [Int: Int], scratch: [Int: Int], byteCount: Int)

  private func layout(of steps: [any CPUStep]) -> Layout {
    var lifetimes: [Int: ClosedRange<Int>] = [:]
    for (index, step) in steps.enumerated() {
      for node in step.results where places[node] == nil { lifetimes[node] = index...index }
    }
    for (index, step) in steps.enumerated() {
      for node in step.results {
        for input in graph.nodes[node].inputs {
          let base = bases[input]
          guard let life = lifetimes[base] else { continue }
          lifetimes[base] = life.lowerBound...max(life.upperBound, index)
        }
      }
    }
    for output in graph.outputs {
      let base = bases[output.node]
      guard let life = lifetimes[base] else { continue }
      lifetimes[base] = life.lowerBound...steps.count
    }
    let shared = inPlace(steps, lifetimes)
    for (node, host) in shared {
      guard let mine = lifetimes[node], let other = lifetimes[host] else { continue }
      lifetimes[host] =
        min(mine.lowerBound, other.lowerBound)...max(mine.upperBound, other.upperBound)
    }
    var values = lifetimes.filter { shared[$0.key] == nil }.map {
      (node: $0.key, byteCount: graph.nodes[$0.key].type.byteCount, lifetime: $0.value)
    }
    let scratchBase = graph.nodes.count
    for (index, step) in steps.enumerated() {
      let size = step.scratchByteCount(pool)
      if size > 0 { values.append((scratchBase + index, size, index...index)) }
    }
    let plan = MemoryPlan(values)
    var offsets: [Int: Int] = [:]
    var scratch: [Int: Int] = [:]
    for (node, placement) in plan.placements {
      if node >= scratchBase {
        scratch[node - scratchBase] = placement.offset
      } else {
        offsets[node] = placement.offset
      }
    }
    for (node, host) in shared { offsets[node] = offsets[host] }
    return (offsets, scratch, plan.byteCount)
  }

  /// Results of row operations that take their first operand's memory, with the value that had it.
  ///
  /// The operand dies there, has the same size, and nothing else reads it.
  private func inPlace(
    _ steps: [any CPUStep],
    _ lifetimes: [Int: ClosedRange<Int>]
  ) -> [Int: Int] {
    var hosts: [Int: Int] = [:]
    var readers = [Int](repeating: 0, count: graph.nodes.count)
    for node in graph.nodes where bases[node.id] == node.id {
      for input in Set(node.inputs.map { bases[$0] }) { readers[input] += 1 }
    }
    let outputs = Set(graph.outputs.map { bases[$0.node] })
    for case let loop as RowLoop in steps {
      for step in loop.steps where step.overwrites {
        let operand = bases[graph.nodes[step.node].inputs[0]]
        let others = graph.nodes[step.node].inputs.dropFirst().map { bases[$0] }
        guard !others.contains(operand), lifetimes[step.node] != nil, lifetimes[operand] != nil,
          readers[operand] == 1,
          !outputs.contains(operand),
          graph.nodes[operand].type.byteCount == graph.nodes[step.node].type.byteCount,
          offsets[graph.nodes[step.node].inputs[0]] == 0
        else { continue }
        hosts[step.node] = hosts[operand] ?? operand
      }
    }
    return hosts
  }
}

extension Graph {
  /// Whether an f16 value is only read by casts back to f32.
  func isOnlyLoaded(_ id: Int) -> Bool {
    !outputs.contains { $0.node == id }
      && nodes.allSatisfy { !$0.inputs.contains(id) || $0.op == .cast(.f32) }
  }

  /// Whether a constant is only read as a matrix or table, perhaps through views.
  func readsAsMatrix(_ constant: Int) -> Bool {
    let readers = nodes.filter { $0.inputs.contains(constant) }
    return !readers.isEmpty
      && readers.allSatisfy { reader in
        switch reader.op {
        case .linear: reader.inputs[1] == constant && reader.inputs[0] != constant
        case .gather: reader.inputs[0] == constant
        case .reshape, .slice(axis: 0, start: _, count: _): readsAsMatrix(reader.id)
        default: false
        }
      }
  }
}
