import Foundation
import Graph
import Media
import Models
import Troika

/// `troika inspect`: what the model would be given, or what a folder holds.
enum InspectCommand: Command {
  static let name = "inspect"
  static let summary = "show what the model is given of a file, or what a folder or placement holds"
  static let help = """
    usage: troika inspect FILE|DIR [OPTIONS]

    Decodes all that generate would use of a medium and fails where it would. The kind comes from
    the content: an animated GIF or WebP is an image (its first frame) unless --as video; a
    container without a picture track is audio. Without --model, Gemma 4 E2B's values are used.
    A FILE.json is a placement.

      --as KIND        image, video or audio
      --model DIR      take patch size, budgets and sound front end from this folder
      --fps N          frames a second at most (1)
      --max-frames N   frames a clip at most (8)
      --frame-sampling even (default) or reference
      --context N      how many frames fit, at 64 and 256 tokens a frame; no FILE is needed
      --json           one JSON document

    Example:
      troika inspect clip.mp4 --fps 1 --max-frames 6 --json
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: ["as", "model", "fps", "max-frames", "frame-sampling", "context"],
      switches: ["json"]
    )
    guard arguments.words.count <= 1 else {
      throw UsageError("\(arguments.words[1]): expected one file or folder")
    }
    let context = try arguments.integer("context", in: 1...(1 << 24))
    guard !arguments.words.isEmpty || context != nil else {
      throw UsageError("inspect: expected a file, a folder or --context, got nothing")
    }
    let kinds = ["image", "video", "audio"]
    _ = try arguments.choice("frame-sampling", VideoOptions.Sampling.self)
    if let kind = arguments["as"], !kinds.contains(kind) {
      throw UsageError("--as: expected one of image, video, audio, got '\(kind)'")
    }
    if let path = arguments.words.first, arguments["as"] == nil, !arguments.has("json"),
      let profile = try profile(path)
    {
      CalibrationText.lines(profile, nil).forEach { Output.line($0) }
      return .done
    }
    var fields: [(String, JSONValue)] = []
    if let path = arguments.words.first { fields = try inspect(path, arguments) }
    if let context { fields.append(("context", ContextBudget(context).json)) }
    if arguments.has("json") {
      Output.line(JSONValue.object(fields: fields).text(.compact, sortingKeys: false))
    } else {
      InspectText.lines(fields).forEach { Output.line($0) }
    }
    return .done
  }

  /// A device profile, which carries the version of its format; nil for any other file.
  private static func profile(_ path: String) throws -> DeviceProfile? {
    guard path.lowercased().hasSuffix(".json") else { return nil }
    let document = try JSONNode(file: path)
    return document.value["profile"]?.integer == nil ? nil : try ProfileFile.read(document)
  }

  private static func inspect(
    _ path: String,
    _ arguments: Arguments
  ) throws -> [(String, JSONValue)] {
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      return try ModelInspection(path: path).fields
    }
    if path.lowercased().hasSuffix(".json"), arguments["as"] == nil {
      if let profile = try profile(path) {
        return [("kind", "profile")] + ProfileFile.fields(profile)
      }
      return PlacementInspection(try PlacementFile(path: path)).fields
    }
    let processor = try arguments["model"].map { try ModelFolder(path: $0).processor }
    let options = VideoOptions(
      fps: try arguments.number("fps", in: 0.001...1000) ?? 1,
      maxFrames: try arguments.integer("max-frames", in: 1...100_000) ?? 8,
      sampling: try arguments.choice("frame-sampling", VideoOptions.Sampling.self) ?? .even
    )
    let inspection = MediaInspection(processor: processor, options: options)
    let kind = try arguments["as"] ?? MediaProbe.kind(path: path).rawValue
    let result = try inspection.fields(path, kind: kind)
    for warning in result.warnings { Output.warning("\(path): \(warning)") }
    return result.fields
  }
}

/// How many frames fit a context, at 261 and 69 tokens a frame.
struct ContextBudget {
  let context: Int

  init(_ context: Int) { self.context = context }

  /// Tokens of a frame: its soft tokens, both delimiters, the label and the space.
  static func tokensPerFrame(_ soft: Int) -> Int { soft + 5 }

  /// Tokens left to the words of the prompt and the answer.
  static let reserve = 128

  /// Frames that fit beside the reserve.
  func fitting(soft: Int) -> Int { max(0, context - Self.reserve) / Self.tokensPerFrame(soft) }

  /// Four fifths of what fits; 0 where a clip makes no sense and a still image is the better way.
  func recommended(soft: Int) -> Int {
    let fitting = fitting(soft: soft)
    return fitting < 2 ? 0 : (fitting * 4 + 2) / 5
  }

  var json: JSONValue {
    .object(
      fields: [("tokens", .integer(context))]
        + [64, 256].map { soft in
          (
            "at\(soft)",
            .object(fields: [
              ("tokensPerFrame", .integer(Self.tokensPerFrame(soft))),
              ("framesThatFit", .integer(fitting(soft: soft))),
              ("recommendedMaxFrames", .integer(recommended(soft: soft))),
            ])
          )
        }
    )
  }
}
