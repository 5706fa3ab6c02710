/// What a model folder says about generating.
public struct GenerationConfig: Hashable, Sendable {
  /// Ids that end an answer, in ascending order.
  public let stopIDs: [Int]
  /// The id that fills, where stated.
  public let padID: Int?
  /// The id that starts a prompt, where stated.
  public let beginID: Int?
  /// Whether the publisher samples by default.
  public let doSample: Bool
  /// The publisher's temperature, where stated.
  public let temperature: Double?
  /// The publisher's number of candidates, where stated.
  public let topK: Int?
  /// The publisher's mass of candidates, where stated.
  public let topP: Double?

  /// Reads `generation_config.json`, where there is one, and the stop ids of `config.json`.
  ///
  /// - Parameter folder: a model folder.
  /// - Throws: `FileError` or `JSONError`.
  public init(folder: String) throws {
    let config = try JSONNode(file: folder + "/config.json")
    let name = "generation_config.json"
    var generation: JSONNode?
    if try MappedFile.names(inFolder: folder).contains(name) {
      generation = try JSONNode(file: folder + "/" + name)
    }
    try self.init(config: config, generation: generation)
  }

  /// Reads parsed files.
  ///
  /// - Parameters:
  ///   - config: the top of `config.json`.
  ///   - generation: the top of `generation_config.json`, nil where there is none.
  /// - Throws: `JSONError` where a field has another kind or an impossible value.
  public init(config: JSONNode, generation: JSONNode?) throws {
    let text = try config.optional("text_config")
    var stops = Set(try Self.ids(try config.optional("eos_token_id")))
    stops.formUnion(try Self.ids(try generation?.optional("eos_token_id")))
    if stops.isEmpty { stops.formUnion(try Self.ids(try text?.optional("eos_token_id"))) }
    stopIDs = stops.sorted()
    let sources = [generation, config, text].compactMap { $0 }
    padID = try Self.first("pad_token_id", sources)
    beginID = try Self.first("bos_token_id", sources)
    doSample = try generation?.bool("do_sample", or: false) ?? false
    let options = try SamplingOptions.Fields(generation)
    temperature = options.temperature
    topK = options.topK
    topP = options.topP
  }

  private static func first(_ key: String, _ sources: [JSONNode]) throws -> Int? {
    for source in sources {
      if let id = try ids(try source.optional(key)).first { return id }
    }
    return nil
  }

  private static func ids(_ node: JSONNode?) throws(JSONError) -> [Int] {
    guard let node else { return [] }
    var ids: [Int] = []
    for element in node.value.array == nil ? [node] : try node.elements() {
      let id = try element.integer()
      guard id >= 0 else { throw element.mismatch("a token id", came: "\(id)") }
      ids.append(id)
    }
    return ids
  }
}

extension SamplingOptions {
  /// The fields of a generation configuration, each checked.
  struct Fields {
    var temperature: Double?
    var topK: Int?
    var topP: Double?

    init(_ node: JSONNode?) throws(JSONError) {
      guard let node else { return }
      temperature = try node.optional("temperature")?.double()
      topK = try node.optional("top_k")?.integer()
      topP = try node.optional("top_p")?.double()
      for (key, error) in [
        ("temperature", SamplingError.checkTemperature(temperature)),
        ("top_k", SamplingError.checkTopK(topK)), ("top_p", SamplingError.checkTopP(topP)),
      ] {
        guard case .option(_, let expected, let came) = error else { continue }
        throw JSONError.field(subject: node.subject, path: key, expected: expected, came: came)
      }
    }
  }
}
