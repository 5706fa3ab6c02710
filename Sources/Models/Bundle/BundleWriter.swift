import Glibc
import Graph

/// Makes bundles.
public struct BundleWriter {
  /// Files of a model folder that a bundle keeps as they are, where they exist.
  public static let copiedFiles = [
    "config.json", "tokenizer.json", "tokenizer_config.json", "processor_config.json",
    "generation_config.json", "chat_template.jinja", "chat_template.json",
  ]

  /// What became of one tensor.
  public struct TensorReport: Sendable {
    /// The tensor.
    public let tensor: StoredTensor
    /// What storing did to its numbers.
    public let report: EncodingReport
  }

  /// How the decoder's matrices are stored.
  public var weights: WeightFormat
  /// The decoder's cuts.
  public var layout: ChunkLayout
  /// Tokens of the prefill programs.
  public var prefill: [Int]
  /// Positions of the caches.
  public var context: Int

  /// A writer with its options.
  public init(weights: WeightFormat, layout: ChunkLayout, prefill: [Int], context: Int) {
    self.weights = weights
    self.layout = layout
    self.prefill = prefill
    self.context = context
  }

  /// Makes a bundle.
  ///
  /// It is put together beside its final place and moved there when all of it is on the disk.
  ///
  /// - Parameters:
  ///   - source: what it is made from.
  ///   - path: the folder to make; nothing may be there.
  ///   - progress: called with the numbers stored so far and in all; false gives up.
  /// - Returns: a report for each tensor.
  /// - Throws: where the disk is full or a tensor cannot be stored.
  public func write(
    _ source: BundleSource,
    to path: String,
    progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> [TensorReport] {
    let folder = try PartialFolder(final: path)
    do {
      let tensors = try source.model.storedTensors(weights, layout, over: source.rows)
      let total = tensors.reduce(0) { $0 + $1.type.shape.elementCount }
      var files: [BundleManifest.File] = []
      for (name, bytes) in source.files {
        try folder.write(bytes, name)
        files.append(Self.entry(name, bytes.withUnsafeBytes { ($0.count, SHA256.hex($0)) }))
      }
      try folder.add(BundleManifest.weightsFolder)
      var (reports, done) = ([TensorReport](), 0)
      for name in tensors.map(\.file).uniqued {
        let file = "\(BundleManifest.weightsFolder)/\(name).safetensors"
        let writer = WeightsFileWriter(folder.path + "/" + file, tensors.filter { $0.file == name })
        let (stored, content) = try Self.store(writer, source.rows) { count throws(BundleError) in
          done += count
          guard progress(done, total) else { throw .cancelled(path: path) }
        }
        reports += stored
        files.append(Self.entry(file, content))
      }
      let manifest = BundleManifest(
        weights: weights,
        chunks: layout.ranges.map(\.upperBound),
        prefill: prefill,
        context: context,
        mediaStyle: source.mediaStyle,
        warnings: source.warnings,
        programs: try source.model.programs(
          layout,
          prefill: prefill,
          context: context,
          hasOwnHead: tensors.contains { $0.name == TextDecoder.headName },
          over: StoredTypes(tensors)
        ),
        files: files
      )
      try folder.write(Array(manifest.text.utf8), BundleManifest.fileName)
      try folder.finish()
      return reports
    } catch {
      folder.remove()
      throw folder.named(error)
    }
  }

  /// Writes one weights file and digests it.
  private static func store(
    _ writer: WeightsFileWriter,
    _ rows: any RowSource,
    advance: (Int) throws(BundleError) -> Void
  ) throws -> (reports: [TensorReport], content: (byteCount: Int, digest: String)) {
    let results = try writer.write(from: rows, progress: advance)
    let mapped = try MappedFile(writer.path)
    let digest = try mapped.withBytes { bytes in
      try SHA256.hex(bytes) { () throws(BundleError) in try advance(0) }
    }
    let reports = results.map { TensorReport(tensor: $0.0, report: $0.1) }
    return (reports, (mapped.byteCount, digest))
  }

  private static func entry(
    _ path: String,
    _ content: (byteCount: Int, digest: String)
  ) -> BundleManifest.File {
    BundleManifest.File(path: path, byteCount: content.byteCount, digest: content.digest)
  }
}

extension Array where Element: Hashable {
  /// Each element once, at its first place.
  var uniqued: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
