import Media
import Models

extension Verification {
  func verifyTables(_ collect: (Check) -> Void) throws {
    let tables = try set.json("tables.json")
    for row in try tables.elements("resize") {
      let (height, width) = (try row.integer("height"), try row.integer("width"))
      let geometry = try ImageGeometry(
        patchSize: try row.integer("patch_size"),
        poolingKernel: try row.integer("pooling_kernel_size"),
        maxSoftTokens: try row.integer("max_soft_tokens")
      )
      let name =
        "resize \(width)x\(height) patch \(geometry.patchSize) "
        + "tokens \(geometry.maxSoftTokens)"
      let expected = [
        try row.integer("target_width"), try row.integer("target_height"),
        try row.integer("soft_tokens"),
      ]
      let target = try geometry.target(width: width, height: height)
      let got = [
        target.width, target.height,
        geometry.softTokenCount(targetWidth: target.width, targetHeight: target.height),
      ]
      collect(.exact("tables", name, got == expected, "expected \(expected), got \(got)"))
    }
    for row in try tables.elements("frame_sampling") {
      let total = try row.integer("total_num_frames")
      let count = try row.integer("num_frames")
      let expected = try row.integers("indices")
      let got = ReferenceSampling.indices(total: total, count: count)
      collect(
        .exact(
          "tables",
          "frames \(count) of \(total)",
          got == expected,
          "expected \(expected), got \(got)"
        )
      )
    }
    for row in try tables.elements("timestamps") {
      let (seconds, text) = (try row.double("seconds"), try row.string("text"))
      let got = FrameChoice.label(seconds: seconds)
      collect(
        .exact("tables", "label of \(seconds) s", got == text, "expected \(text), got \(got)")
      )
    }
    let mel = try LogMel(parameters: folder.processor.mel)
    for row in try tables.elements("audio_lengths") {
      let samples = try row.integer("samples")
      let expected = [
        try row.integer("mel_frames"), try row.integer("valid_mel_frames"),
        try row.integer("placeholders"),
      ]
      let counts = mel.counts(sampleCount: samples)
      let got = [counts.frames, counts.validFrames, counts.softTokens]
      collect(
        .exact("tables", "audio of \(samples)", got == expected, "expected \(expected), got \(got)")
      )
    }
  }

  func verifyTokenizer(_ collect: (Check) -> Void) throws {
    let tokenizer = folder.encoder.tokenizer
    for (index, entry) in try set.json("tokenizer.json").elements().enumerated() {
      let text = try entry.string("text")
      let expected = try entry.integers("ids")
      let ids = tokenizer.encode(text)
      let name = "\(index) \(text.prefix(24).debugDescription)"
      collect(
        .exact("tokenizer", name + " ids", ids == expected, "expected \(expected), got \(ids)")
      )
      for (key, skips) in [("decoded", false), ("decoded_without_special", true)] {
        let decoded = try tokenizer.decode(expected, skipSpecial: skips)
        let golden = try entry.string(key)
        collect(
          .exact(
            "tokenizer",
            "\(name) \(key)",
            decoded == golden,
            "expected \(golden.debugDescription), got \(decoded.debugDescription)"
          )
        )
      }
    }
  }

  func verifyChat(_ collect: (Check) -> Void) throws {
    for entry in try set.json("chat_templates.json").elements() {
      let style = try entry.string("style")
      let template = ChatTemplate(
        mediaStyle: MediaStyle(rawValue: style) ?? .plain,
        thinking: try entry.bool("enable_thinking", or: false)
      )
      let conversation = try GoldenConversation(try entry.elements("messages"))
      let text = try template.text(conversation.messages)
      let golden = try entry.string("rendered")
      collect(
        .exact(
          "chat",
          "\(try entry.string("name")) \(style)",
          text == golden,
          "expected \(golden.debugDescription), got \(text.debugDescription)"
        )
      )
    }
  }
}

/// The messages of a case and the media they name.
struct GoldenConversation {
  var messages: [ChatMessage] = []
  /// Names by medium.
  var names: [Medium: String] = [:]

  init(_ nodes: [JSONNode]) throws {
    var counts: [Models.MediaKind: Int] = [:]
    for node in nodes {
      let role = ChatMessage.Role(rawValue: try node.string("role")) ?? .user
      let content = try node.member("content")
      if let text = content.value.string {
        messages.append(ChatMessage(role, text))
        continue
      }
      var parts: [ContentPart] = []
      for part in try content.elements() {
        let type = try part.string("type")
        guard let kind = Self.kind(type) else {
          parts.append(.text(try part.string("text")))
          continue
        }
        let medium = Medium(kind, counts[kind, default: 0])
        counts[kind, default: 0] += 1
        names[medium] = try part.string("name")
        parts.append(.medium(medium))
      }
      messages.append(ChatMessage(role, parts))
    }
  }

  private static func kind(_ name: String) -> Models.MediaKind? {
    switch name {
    case "image": .image
    case "video": .video
    case "audio": .audio
    default: nil
    }
  }
}
