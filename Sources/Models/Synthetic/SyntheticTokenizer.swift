/// A vocabulary of the special tokens, the 256 bytes, the printable characters and fillers.
struct SyntheticTokenizer {
  private let size: Int
  private let special: [Int: String]

  private static let fixed: [Int: String] = [
    0: "<pad>", 1: "<eos>", 2: "<bos>", 3: "<unk>", 4: "<mask>", 98: "<|think|>",
    100: "<|channel>", 101: "<channel|>", 105: "<|turn>", 106: "<turn|>",
  ]
  private static let firstByte = 238
  private static let firstCharacter = firstByte + 256

  init(_ size: Int, _ media: MediaTokenPlaces) {
    self.size = size
    var special = Self.fixed
    special[media.imageBegin] = "<|image>"
    special[media.audioBegin] = "<|audio>"
    special[media.image] = "<|image|>"
    special[media.audio] = "<|audio|>"
    special[media.imageEnd] = "<image|>"
    special[media.audioEnd] = "<audio|>"
    special[media.video] = "<|video|>"
    self.special = special
  }

  /// `tokenizer.json`.
  var document: JSONValue {
    let added = special.sorted { $0.key < $1.key }.map { id, content in
      JSONValue.object(fields: [
        ("id", .integer(id)), ("content", .string(content)), ("single_word", .bool(false)),
        ("lstrip", .bool(false)), ("rstrip", .bool(false)), ("normalized", .bool(false)),
        ("special", .bool(true)),
      ])
    }
    let space = JSONValue.object(fields: [("String", .string(" "))])
    let mark = JSONValue.object(fields: [("String", .string("\u{2581}"))])
    return .object(fields: [
      ("version", .string("1.0")), ("added_tokens", .array(added)),
      (
        "normalizer",
        .object(fields: [
          ("type", .string("Replace")), ("pattern", space), ("content", .string("\u{2581}")),
        ])
      ),
      (
        "decoder",
        .object(fields: [
          ("type", .string("Sequence")),
          (
            "decoders",
            .array([
              .object(fields: [
                ("type", .string("Replace")), ("pattern", mark), ("content", .string(" ")),
              ]),
              .object(fields: [("type", .string("ByteFallback"))]),
              .object(fields: [("type", .string("Fuse"))]),
            ])
          ),
        ])
      ),
      (
        "model",
        .object(fields: [
          ("type", .string("BPE")), ("unk_token", .string("<unk>")), ("fuse_unk", .bool(true)),
          ("byte_fallback", .bool(true)), ("ignore_merges", .bool(false)), ("vocab", vocabulary),
          ("merges", .array([])),
        ])
      ),
    ])
  }

  /// `generation_config.json`.
  static let generation = JSONValue.object(fields: [
    ("bos_token_id", .integer(2)), ("pad_token_id", .integer(0)),
    ("eos_token_id", .array([.integer(1), .integer(106)])),
  ])

  private var vocabulary: JSONValue {
    var object = JSONObject()
    let characters =
      (0x21...0x7E).compactMap { UnicodeScalar($0).map(String.init) } + ["\u{2581}", "\n"]
    for id in 0..<size { object[token(id, characters)] = .integer(id) }
    return .object(object)
  }

  private func token(_ id: Int, _ characters: [String]) -> String {
    if let name = special[id] { return name }
    let byte = id - Self.firstByte
    if (0..<256).contains(byte) {
      let digits = String(byte, radix: 16, uppercase: true)
      return "<0x" + (digits.count == 1 ? "0" : "") + digits + ">"
    }
    let character = id - Self.firstCharacter
    return characters.indices.contains(character) ? characters[character] : "<unused\(id)>"
  }
}
