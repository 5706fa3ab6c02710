public import Graph

/// A tensor as a bundle stores it.
public struct StoredTensor: Hashable, Sendable {
  /// The name that programs read it by.
  public let name: String
  /// The name it has in the checkpoint.
  public let origin: String
  /// Its stored format and shape.
  public let type: TensorType
  /// The file that holds it: `embed`, `chunk1`, …, `head`, `vision`, `audio`.
  public let file: String
}

extension Gemma4 {
  /// Every tensor of the programs that a bundle holds, in the order in which they are read.
  ///
  /// A decoder with tied embeddings reads its head as a matrix of its own unless the format is f16,
  /// where table and head are one.
  ///
  /// - Parameters:
  ///   - format: how the decoder's matrices are stored.
  ///   - layout: the decoder's cuts; each chunk has a file of its own, the head goes to the last.
  ///   - source: types of the checkpoint's tensors.
  /// - Returns: the tensors with the file that each belongs to.
  /// - Throws: `GraphError` where a tensor is absent or has another shape.
  public func storedTensors(
    _ format: WeightFormat,
    _ layout: ChunkLayout,
    over source: any WeightSource
  ) throws(GraphError) -> [StoredTensor] {
    var list = TensorList(format: format)
    list.add(try text.embedding(tokens: 1, over: source), file: "embed", inDecoder: true)
    for (index, range) in layout.ranges.enumerated() {
      let shape = TextDecoder.ChunkShape(
        layers: range,
        tokens: 1,
        rows: .all,
        slidingCacheRows: 1,
        fullCacheRows: 1
      )
      let name = "chunk\(index + 1)"
      list.add(try text.chunk(shape, name: name, over: source), file: name, inDecoder: true)
    }
    let last = "chunk\(layout.ranges.count)"
    let splits = configuration.text.tiesEmbeddings && format != .f16
    list.add(
      try text.head(rows: 1, over: source),
      file: last,
      inDecoder: true,
      renaming: splits ? [text.tableName: TextDecoder.headName] : [:]
    )
    if let vision {
      let graph = try vision.encoder(patches: vision.configuration.patchesPerToken, over: source)
      list.add(graph, file: "vision", inDecoder: false)
      list.addBounds(vision.configuration.boundNames, file: "vision")
    }
    if let audio {
      list.add(try audio.encoder(frames: 4, over: source), file: "audio", inDecoder: false)
      list.addBounds(audio.configuration.boundNames, file: "audio")
    }
    return list.tensors
  }
}

/// Tensors collected program by program, each once.
private struct TensorList {
  let format: WeightFormat
  var tensors: [StoredTensor] = []
  var names: Set<String> = []

  init(format: WeightFormat) { self.format = format }

  mutating func add(
    _ graph: Graph,
    file: String,
    inDecoder: Bool,
    renaming: [String: String] = [:]
  ) {
    let readers = graph.readers
    for node in graph.nodes {
      guard case .constant(.weight(let origin)) = node.op else { continue }
      let name = renaming[origin] ?? origin
      let dtype = format.stored(
        graph.role(of: node.id, readers: readers[node.id]),
        shape: node.type.shape,
        inDecoder: inDecoder
      )
      add(name, origin, TensorType(dtype, node.type.shape), file)
    }
  }

  mutating func addBounds(_ bounds: [String], file: String) {
    for name in bounds { add(name, name, TensorType(.f32, []), file) }
  }

  private mutating func add(_ name: String, _ origin: String, _ type: TensorType, _ file: String) {
    guard names.insert(name).inserted else { return }
    tensors.append(StoredTensor(name: name, origin: origin, type: type, file: file))
  }
}

/// Types of stored tensors without their bytes: what plans are made over.
public struct StoredTypes: WeightSource {
  private let types: [String: TensorType]

  /// The types of these tensors.
  public init(_ tensors: [StoredTensor]) {
    types = Dictionary(uniqueKeysWithValues: tensors.map { ($0.name, $0.type) })
  }

  /// The type of a tensor.
  public func type(of name: String) -> TensorType? { types[name] }

  /// Never any bytes.
  ///
  /// - Throws: always.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    throw CheckpointError.absent(name: name, file: "shapes without weights")
  }
}
