public import Graph

/// A model with random weights in the shapes of a real one: for benchmarks and plans without any file.
public struct SyntheticModel: Sendable {
  /// Which model's shapes.
  public enum Size: String, Hashable, Sendable, CaseIterable {
    /// Gemma 4 E2B.
    case e2b
    /// Gemma 4 E4B.
    case e4b
    /// A few layers of each kind.
    case tiny
  }

  /// The shapes.
  public let size: Size
  /// The programs.
  public let model: Gemma4
  /// Random numbers in the model's shapes; types are bf16.
  public let rows: SyntheticRows

  /// A model of one of the sizes.
  ///
  /// - Parameters:
  ///   - size: whose shapes.
  ///   - seed: which random numbers.
  /// - Throws: never for the sizes there are.
  public init(_ size: Size, seed: UInt64 = 1) throws {
    self.size = size
    rows = SyntheticRows(seed: seed)
    let text = size.configuration.text()
    let json = try Array(text.utf8).withUnsafeBytes {
      JSONNode(try JSONValue(parsing: $0, subject: "config.json"), subject: "config.json")
    }
    model = try Gemma4(try Gemma4Configuration(json), over: rows)
  }

  /// What a bundle of this model is made from: an English-free tokenizer of single bytes and named
  /// fillers, special tokens at their real ids.
  public var source: BundleSource {
    let files: [(String, JSONValue)] = [
      ("config.json", size.configuration),
      ("tokenizer.json", SyntheticTokenizer(size.vocabularySize, size.mediaTokens).document),
      ("generation_config.json", SyntheticTokenizer.generation),
    ]
    return BundleSource(
      model: model,
      rows: rows,
      files: files.map { ($0.0, Array($0.1.text(.indented).utf8)) },
      mediaStyle: .plain
    )
  }

  /// Types of the tensors as a bundle would store them: what plans are made over.
  ///
  /// - Throws: never for the sizes there are.
  public func types(
    _ format: WeightFormat,
    _ layout: ChunkLayout
  ) throws(GraphError) -> StoredTypes {
    StoredTypes(try model.storedTensors(format, layout, over: rows))
  }
}

/// Random numbers for tensors of any name: the same for a name, a row and a seed.
///
/// Matrices have a spread of 1 / √columns, so that values keep their size; norms and scales are 1; clip
/// bounds are wide.
public struct SyntheticRows: RowSource {
  private let seed: UInt64
  private let bounds = SyntheticBounds()

  init(seed: UInt64) { self.seed = seed }

  /// Never known without a shape.
  public func type(of name: String) -> TensorType? {
    name.hasSuffix("_min") || name.hasSuffix("_max") ? TensorType(.f32, []) : nil
  }

  /// bf16 in whatever shape is expected.
  public func type(of name: String, expecting shape: Shape) -> TensorType? {
    TensorType(.bf16, shape)
  }

  /// The bytes of a clip bound; other tensors are only read by rows.
  ///
  /// - Throws: for other tensors.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard type(of: name) != nil else {
      throw CheckpointError.absent(name: name, file: fileName(of: name))
    }
    return name.hasSuffix("_min") ? bounds.lower : bounds.upper
  }

  /// Says that the weights are random.
  public func fileName(of name: String) -> String { "random weights" }

  /// Writes random rows.
  public func read(
    _ name: String,
    rows: Range<Int>,
    into target: UnsafeMutableBufferPointer<Float>
  ) throws {
    guard type(of: name) == nil else {
      target.update(repeating: name.hasSuffix("_min") ? SyntheticBounds.low : SyntheticBounds.high)
      return
    }
    let isMatrix = name.hasSuffix(".weight") && !name.contains("norm") || name.hasSuffix("table")
    guard isMatrix else {
      target.update(repeating: 1)
      return
    }
    let columns = target.count / max(rows.count, 1)
    let spread = Float(1) / Float(columns).squareRoot()
    for (index, row) in rows.enumerated() {
      var generator = RandomRow(seed: seed &+ name.stableHash, row: row)
      for column in 0..<columns { target[index * columns + column] = generator.next() * spread }
    }
  }
}

/// Nearly normal numbers, spread 1: sums of four uniform ones.
private struct RandomRow {
  private var state: UInt64
  private static let scale: Float = 1.732_050_8 / 65_536

  init(seed: UInt64, row: Int) {
    state = seed &+ UInt64(truncatingIfNeeded: row) &* 0x9E37_79B9_7F4A_7C15
    _ = step()
  }

  private mutating func step() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func next() -> Float {
    let bits = step()
    let sum =
      Int32(bits & 0xFFFF) + Int32(bits >> 16 & 0xFFFF) + Int32(bits >> 32 & 0xFFFF)
      + Int32(bits >> 48)
    return Float(sum - 131_070) * Self.scale
  }
}

/// Memory of the two clip bounds.
private final class SyntheticBounds: Sendable {
  static let low: Float = -30
  static let high: Float = 30
  private nonisolated(unsafe) let memory: UnsafeMutableBufferPointer<Float>

  init() {
    memory = .allocate(capacity: 2)
    _ = memory.initialize(fromContentsOf: [Self.low, Self.high])
  }

  deinit { memory.deallocate() }

  var lower: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: memory[..<1]))
  }
  var upper: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: memory[1...]))
  }
}

extension String {
  /// A hash that is the same in every process (FNV-1a).
  var stableHash: UInt64 {
    utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
