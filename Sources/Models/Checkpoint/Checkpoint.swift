public import Graph

/// The weights of a Hugging Face model folder, mapped into memory.
///
/// Reads `model.safetensors`, else the shards that `model.safetensors.index.json` names, else all
/// `*.safetensors`. Names are those of current Gemma 4 files, `model.language_model.…`,
/// `model.vision_tower.…`; files without the leading `model.` or with `language_model.model.…`
/// are read as if they had it. No weight is copied.
public final class Checkpoint: Sendable {
  /// Where the folder lies.
  public let folder: String
  /// All tensors, sorted by name.
  public let tensorNames: [String]
  private let files: [SafetensorsFile]
  private let places: [String: Place]

  private struct Place {
    let file: Int
    let name: String
  }

  /// Opens a folder and checks every header.
  ///
  /// - Throws: `FileError`, `JSONError` or `CheckpointError`.
  public init(folder: String) throws {
    self.folder = folder
    let names = try MappedFile.names(inFolder: folder)
    let index = "model.safetensors.index.json"
    var map: JSONObject?
    var fileNames: [String]
    if names.contains("model.safetensors") {
      fileNames = ["model.safetensors"]
    } else if names.contains(index) {
      let weightMap = try Self.weightMap(JSONNode(file: folder + "/" + index))
      map = weightMap
      fileNames = Array(Set(weightMap.members.compactMap(\.value.string))).sorted()
      for name in fileNames where !names.contains(name) {
        throw CheckpointError.malformed(
          file: index,
          expected: "shard '\(name.printable)' beside it",
          came: "nothing"
        )
      }
    } else {
      fileNames = names.filter { $0.hasSuffix(".safetensors") && !$0.hasPrefix(".") }
    }
    guard !fileNames.isEmpty else { throw CheckpointError.noWeights(folder: folder) }
    files = try fileNames.map { try SafetensorsFile(folder + "/" + $0) }
    places = try Self.places(in: files)
    for member in map?.members ?? [] {
      let file = files.first { $0.file.name == member.value.string }
      guard file?.entry(member.key) != nil else {
        throw CheckpointError.tensor(
          file: index,
          name: member.key,
          expected: "to be in '\((member.value.string ?? "").printable)'",
          came: "nothing"
        )
      }
    }
    tensorNames = places.keys.sorted()
  }

  private static func weightMap(_ index: JSONNode) throws(JSONError) -> JSONObject {
    let node = try index.member("weight_map")
    let object = try node.object()
    for member in object.members {
      let place = JSONNode(
        member.value,
        subject: index.subject,
        path: "weight_map." + member.key
      )
      let name = try place.string()
      guard !name.isEmpty, !name.contains("/") else {
        throw place.mismatch("a file name", came: "'\(name.printable)'")
      }
    }
    return object
  }

  private static func places(
    in files: [SafetensorsFile]
  ) throws(CheckpointError) -> [String: Place] {
    var places: [String: Place] = [:]
    for (index, file) in files.enumerated() {
      for entry in file.entries {
        let place = Place(file: index, name: entry.name)
        if let other = places.updateValue(place, forKey: canonical(entry.name)) {
          throw .duplicate(
            name: entry.name,
            file: file.file.name,
            other: files[other.file].file.name
          )
        }
      }
    }
    return places
  }

  /// A tensor's name with the prefix of current files.
  static func canonical(_ name: String) -> String {
    let older = "language_model.model."
    if name.hasPrefix(older) { return "model.language_model." + name.dropFirst(older.count) }
    for part in [
      "language_model.", "vision_tower.", "audio_tower.", "embed_vision.", "embed_audio.",
    ]
    where name.hasPrefix(part) {
      return "model." + name
    }
    return name
  }
}

extension Checkpoint {
  /// The names of the weight files, in the order read.
  public var fileNames: [String] { files.map(\.file.name) }

  /// The weight file that holds a tensor; the folder where none does.
  public func fileName(of name: String) -> String {
    places[Self.canonical(name)].map { files[$0.file].file.name } ?? folder
  }

  /// Bytes of each weight file, headers included.
  public var fileByteCounts: [Int] { files.map(\.file.byteCount) }

  /// Bytes of all weight files together, headers included.
  public var totalBytes: Int { files.reduce(0) { $0 + $1.file.byteCount } }

  /// A tensor as its file's header lists it, whatever its format; nil where there is none.
  public func entry(_ name: String) -> SafetensorsFile.Entry? {
    places[Self.canonical(name)].flatMap { files[$0.file].entry($0.name) }
  }

  /// The type of a tensor that has to be there.
  ///
  /// - Throws: `CheckpointError` where it is absent or graphs have no such element format.
  public func requiredType(of name: String) throws(CheckpointError) -> TensorType {
    guard let place = places[Self.canonical(name)], let entry = entry(name) else {
      throw .absent(name: name, file: folder)
    }
    guard let type = entry.type else {
      throw .tensor(
        file: files[place.file].file.name,
        name: name,
        expected: "F32, F16, BF16 or I32",
        came: entry.dtype.rawValue
      )
    }
    return type
  }
}

extension Checkpoint: WeightSource {
  /// The type of a tensor; nil where it is absent or graphs have no such element format.
  public func type(of name: String) -> TensorType? { entry(name)?.type }

  /// The bytes of a tensor, row-major, valid as long as this checkpoint lives.
  ///
  /// - Throws: `CheckpointError` where it is absent, has another format or is not aligned.
  public func bytes(of name: String) throws -> UnsafeRawBufferPointer {
    guard let place = places[Self.canonical(name)] else {
      throw CheckpointError.absent(name: name, file: folder)
    }
    return try files[place.file].bytes(of: place.name)
  }
}
