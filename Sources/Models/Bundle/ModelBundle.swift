import Dispatch
public import Graph

/// A model converted for Troika: weights mapped in the format they are computed with.
///
/// A folder of `manifest.json`, the model's own JSON files and `weights/*.safetensors`, one file a
/// chunk and tower. Opening it checks the version, that every file is there with its size, the digests
/// of all but the weights, and every header.
public final class ModelBundle: Sendable {
  /// Where the folder lies.
  public let folder: String
  /// What the bundle holds.
  public let manifest: BundleManifest
  private let tensors: [String: Place]
  private let files: [SafetensorsFile]

  private struct Place {
    let file: Int
    let type: TensorType
    let range: Range<Int>
  }

  /// Whether a folder is a bundle: it has a manifest.
  public static func exists(in folder: String) -> Bool {
    (try? MappedFile.names(inFolder: folder).contains(BundleManifest.fileName)) ?? false
  }

  /// Opens a bundle.
  ///
  /// - Throws: `BundleError`, `FileError`, `JSONError` or `CheckpointError` naming the file.
  public init(folder: String) throws {
    self.folder = folder
    manifest = try BundleManifest(JSONNode(file: folder + "/" + BundleManifest.fileName))
    try Self.checkNames(folder, manifest)
    var files: [SafetensorsFile] = []
    var tensors: [String: Place] = [:]
    for file in manifest.files {
      try Self.check(file, folder, digest: !file.isWeights)
      guard file.isWeights else { continue }
      let weights = try SafetensorsFile(folder + "/" + file.path)
      for entry in weights.entries {
        let place = Place(
          file: files.count,
          type: try Self.type(of: entry, in: weights),
          range: entry.range
        )
        guard tensors.updateValue(place, forKey: entry.name) == nil else {
          throw CheckpointError.duplicate(
            name: entry.name,
            file: file.path,
            other: "another weights file"
          )
        }
      }
      files.append(weights)
    }
    guard !files.isEmpty else { throw CheckpointError.noWeights(folder: folder) }
    self.files = files
    self.tensors = tensors
  }

  /// The names of all tensors, sorted.
  public var tensorNames: [String] { tensors.keys.sorted() }

  /// Whether the head is a matrix of its own, though the model's embeddings are tied to it.
  public var hasOwnHead: Bool { tensors[TextDecoder.headName] != nil }

  /// Checks the digest of every file, weights included.
  ///
  /// - Throws: `BundleError` naming the first file that differs.
  public func checkDigests() throws {
    let results = IndexedResults<Void>(count: manifest.files.count, ())
    DispatchQueue.concurrentPerform(iterations: manifest.files.count) { index in
      results.set(
        index,
        Result { try Self.check(manifest.files[index], folder, digest: true) }
      )
    }
    for result in results.all { try result.get() }
  }

  /// Files that a model folder may have have to be listed: nothing unchecked is read.
  private static func checkNames(_ folder: String, _ manifest: BundleManifest) throws {
    let listed = Set(manifest.files.map(\.path))
    for name in try MappedFile.names(inFolder: folder)
    where BundleWriter.copiedFiles.contains(name) && !listed.contains(name) {
      throw BundleError.file(
        path: folder + "/" + name,
        expected: "no file that the manifest does not list",
        came: "one"
      )
    }
  }

  private static func check(
    _ file: BundleManifest.File,
    _ folder: String,
    digest: Bool
  ) throws {
    let path = folder + "/" + file.path
    let mapped = try MappedFile(path)
    guard mapped.byteCount == file.byteCount else {
      throw BundleError.file(
        path: path,
        expected: "\(file.byteCount) bytes",
        came: "\(mapped.byteCount)"
      )
    }
    guard digest else { return }
    let came = mapped.withBytes { SHA256.hex($0) }
    guard came == file.digest else {
      throw BundleError.file(
        path: path,
        expected: "SHA-256 \(file.digest.prefix(16))…",
        came: "\(came.prefix(16))…"
      )
    }
  }

  private static func type(
    of entry: SafetensorsFile.Entry,
    in file: SafetensorsFile
  ) throws(CheckpointError) -> TensorType {
    func refuse(_ expected: String, _ came: String) -> CheckpointError {
      .tensor(file: file.file.name, name: entry.name, expected: expected, came: came)
    }
    guard let text = file.metadata[entry.name] else {
      throw refuse("its format in the metadata", "nothing")
    }
    guard let format = StoredFormat(text) else {
      throw refuse("a format and a shape", "'\(text.printable)'")
    }
    let type = format.type
    if type.dtype.isDense {
      guard entry.type == type else {
        throw refuse("\(type)", "\(entry.dtype.rawValue)\(entry.shape)")
      }
    }
    guard entry.range.count == type.byteCount else {
      throw refuse("\(type.byteCount) bytes for \(type)", "\(entry.range.count)")
    }
    guard entry.range.lowerBound % type.dtype.alignment == 0 else {
      throw refuse(
        "data aligned to \(type.dtype.alignment) bytes",
        "offset \(entry.range.lowerBound)"
      )
    }
    return type
  }
}

extension ModelBundle: WeightSource {
  /// The type of a tensor; nil where it is absent.
  public func type(of name: String) -> TensorType? { tensors[name]?.type }

  /// The bytes of a tensor, valid as long as this bundle lives.
  ///
  /// - Throws: `CheckpointError.absent`.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard let place = tensors[name] else {
      throw CheckpointError.absent(name: name, file: folder)
    }
    return UnsafeRawBufferPointer(rebasing: files[place.file].file.bytes[place.range])
  }
}
