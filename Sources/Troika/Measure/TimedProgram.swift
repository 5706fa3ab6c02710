import Devices
import Graph
import Models

/// A compiled program with memory of its own to run on, filled with noise, and what making it took.
struct TimedProgram: TimedWork {
  /// What reports call it.
  let name: String
  /// The program.
  let program: Program
  /// A value for every input and output.
  private(set) var bindings: [String: Value]
  /// Operations that left the unit they were placed on.
  let fallbacks: [Fallback]
  /// Tracing, passes and finding a unit for every operation.
  let buildNanoseconds: Int
  /// Making it ready to launch.
  let compileNanoseconds: Int
  private let key: ProgramStore.Key?

  /// A program of a model where a store places it.
  ///
  /// - Parameters:
  ///   - key: the program.
  ///   - store: the model, its weights, its units and where parts run.
  ///   - position: where in the context the step's first row stands.
  ///   - clock: where the time comes from.
  /// - Throws: where it cannot be traced, is refused by its unit, or memory is short.
  init(
    _ key: ProgramStore.Key,
    in store: ProgramStore,
    position: Int = 0,
    clock: () -> Int = { MonotonicClock.nanoseconds }
  ) throws {
    let start = clock()
    let placed = try store.placed(key)
    let built = clock()
    program = try store.compile(placed)
    compileNanoseconds = clock() - built
    buildNanoseconds = built - start
    fallbacks = placed.fallbacks
    name = key.name(placed.graph)
    self.key = key
    bindings = try Self.bindings(program)
    bindings.merge(try key.numbers(at: position, in: store.model, program.graph)) { $1 }
  }

  /// Any graph as a whole on one unit.
  ///
  /// - Parameters:
  ///   - graph: the program, passes done.
  ///   - weights: its constants.
  ///   - unit: where all of it runs.
  ///   - units: the units there are.
  ///   - clock: where the time comes from.
  /// - Throws: where the unit is absent or declines an operation, or memory is short.
  init(
    _ graph: Graph,
    over weights: any WeightSource,
    on unit: UnitID,
    units: Registry,
    clock: () -> Int = { MonotonicClock.nanoseconds }
  ) throws {
    let start = clock()
    program = try Program(graph, over: weights, units: units) { _ in unit }
    compileNanoseconds = clock() - start
    buildNanoseconds = 0
    fallbacks = []
    name = graph.name
    key = nil
    bindings = try Self.bindings(program)
  }

  /// Launches the program and waits for it.
  func run() throws -> [Timeline.Event] { try program.run(bindings) }

  /// The same program over the same memory, its step standing elsewhere in the context.
  ///
  /// - Throws: `DeviceError.outOfMemory`.
  func standing(at position: Int, in model: Gemma4) throws -> TimedProgram {
    var other = self
    let numbers = try key?.numbers(at: position, in: model, program.graph) ?? [:]
    other.bindings.merge(numbers) { $1 }
    return other
  }

  /// Memory for everything the program is given and makes; a state shares the memory of its input.
  private static func bindings(_ program: Program) throws -> [String: Value] {
    var values: [String: Value] = [:]
    for input in program.graph.inputs {
      let value = try Value(input.type)
      value.fillWithNoise()
      values[input.name] = value
    }
    return values.merging(try program.allocateOutputs(except: values)) { $1 }
  }
}

extension Value {
  /// Fills an f32 or f16 tensor with numbers between -0.5 and 0.5; others keep their zeros.
  ///
  /// Memory that nothing wrote would be one page of zeros, read from the cache.
  func fillWithNoise() {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    let block: [UInt8]
    switch type.dtype {
    case .f32:
      let noise = (0..<16_384).map { _ in Float(next() & 0xFFFF) / 65_536 - 0.5 }
      block = noise.withUnsafeBytes { Array($0) }
    case .f16:
      // Exponents of 2^-8 to 2^-2, either sign.
      let noise = (0..<32_768).map { _ in
        UInt16(next() & 0x83FF) | UInt16(7 + next() % 7) << 10
      }
      block = noise.withUnsafeBytes { Array($0) }
    default: return
    }
    for start in stride(from: 0, to: type.byteCount, by: block.count) {
      let count = min(block.count, type.byteCount - start)
      block.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(start: pointer + start, count: count)
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
    }
  }
}

extension ProgramStore.Key {
  /// Inputs that are not noise: ids, places, counts and masks.
  func numbers(at position: Int, in model: Gemma4, _ graph: Graph) throws -> [String: Value] {
    let text = model.configuration.text
    switch self {
    case .vision(let patches, _):
      let fits = model.configuration.vision?.positionCount ?? 1
      let side = min(Int(Double(patches).squareRoot().rounded(.up)), fits)
      let grid = (0..<patches).flatMap { [Int32($0 % side), Int32($0 / side % fits)] }
      return [
        "positions": try Value(grid, [patches, 2]), "count": try Value([Int32(patches)], [1]),
      ]
    case .audio(let frames, _):
      let half = AudioConfiguration.halved(frames)
      return [
        "mask": try Value([Float](repeating: 1, count: frames), [frames, 1, 1]),
        "halfMask": try Value([Float](repeating: 1, count: half), [half, 1, 1]),
        "count": try Value([Int32(AudioConfiguration.tokens(frames: frames))], [1]),
      ]
    case .embed(let tokens):
      let ids = (0..<tokens).map { Int32(($0 * 7919 + 1) % text.vocabularySize) }
      let perLayer = ids.map { $0 % Int32(max(text.perLayerVocabularySize, 1)) }
      let places = (0..<tokens).map { Int32(position + $0) }
      return [
        "ids": try Value(ids, [tokens]), "perLayerIds": try Value(perLayer, [tokens]),
        "positions": try Value(places, [tokens, 1]),
      ]
    case .chunk(_, let shape, _, _):
      let last = Int32(shape.tokens - 1)
      return [
        "position": try Value([Int32(position)], [1]),
        "count": try Value([Int32(shape.tokens)], [1]), "last": try Value([last], [1]),
        "queryPosition": try Value([Int32(position) + last], [1]),
      ]
    case .head: return [:]
    }
  }
}
