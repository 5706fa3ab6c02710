import Foundation
import Graph
import Models
import Troika

/// The options of commands that simulate: which model, which device, which request.
struct SimulationOptions {
  static let valued = PlacementOptions.valued.union([
    "synthetic", "weights", "profile", "prompt-tokens", "images", "frames", "audio-seconds",
    "max-tokens", "request",
  ])
  static let switches = PlacementOptions.switches

  static let help = """
    \(PlacementOptions.help)
      --profile X         iphone-17-pro, mac-studio, host (see calibrate), or a profile's file
    \(shapes)
    """

  /// Options of the model's shapes and the request's lengths.
  static let shapes = """
      --synthetic S       shapes of e2b, e4b or tiny without any file, in place of --model
      --weights W         how those are stored: int4 (default), int4-linear, int8 or f16
      --prompt-tokens N   tokens of text; media add theirs (348)
      --images N          square pictures in front of the text (0)
      --frames N          frames of a video of 64 tokens each (0)
      --audio-seconds S   seconds of sound (0)
      --max-tokens N      tokens to generate (256)
      --request F         the same from a JSON file: promptTokens, images, frames, audioSeconds,
                          maxTokens; options override it
    """

  let arguments: Arguments
  let placement: PlacementOptions
  let profile: DeviceProfile
  let planned: PlannedModel
  let load: Troika.LoadOptions

  /// Reads them.
  ///
  /// - Parameters:
  ///   - arguments: the command line.
  ///   - name: the option that names the profile.
  ///   - known: the profile where none is named; nil where one has to be.
  ///   - given: the placement, where it is no option.
  /// - Throws: where any cannot be read or does not fit the model.
  init(
    _ arguments: Arguments,
    profile name: String = "profile",
    otherwise known: String? = nil,
    placement given: String? = nil
  ) throws {
    self.arguments = arguments
    placement = try PlacementOptions(arguments, placement: given)
    profile = try KnownProfiles.profile(arguments[name] ?? known ?? arguments.required(name))
    planned = try Self.planned(arguments, placement)
    let planned = planned
    load = try placement.load { planned.model.configuration.text }
  }

  /// The model: shapes alone, or a folder.
  static func planned(
    _ arguments: Arguments,
    _ placement: PlacementOptions
  ) throws -> PlannedModel {
    guard let size = try arguments.choice("synthetic", SyntheticModel.Size.self) else {
      guard arguments["weights"] == nil else {
        throw UsageError("--weights: expected it with --synthetic only")
      }
      return PlannedModel(try ModelFolder(path: try placement.path()))
    }
    guard arguments["model"] == nil else {
      throw UsageError("--synthetic: expected it or --model, got both")
    }
    return try PlannedModel(size, try arguments.choice("weights", WeightFormat.self) ?? .int4)
  }

  /// A simulator of the model on the device.
  func simulator() throws -> DeviceSimulator {
    try DeviceSimulator(
      planned,
      load,
      on: profile,
      sharedLayers: try arguments.choice("shared-layers", TextDecoder.SharedLayers.self)
        ?? placement.file.sharedLayers,
      batches: try arguments.choice("batches", BatchChoice.self) ?? placement.file.batches
    )
  }

  /// The request's lengths.
  func request() throws -> RequestShape {
    let file = try arguments["request"].map { try RequestFile(path: $0) } ?? RequestFile()
    let most = 1 << 24
    return try RequestShape(
      planned.model,
      textTokens: arguments.integer("prompt-tokens", in: 0...most) ?? file.promptTokens ?? 348,
      images: arguments.integer("images", in: 0...4096) ?? file.images,
      frames: arguments.integer("frames", in: 0...4096) ?? file.frames,
      audioSeconds: arguments.number("audio-seconds", in: 0...86400) ?? file.audioSeconds,
      maxTokens: arguments.integer("max-tokens", in: 1...most) ?? file.maxTokens
    )
  }
}

/// A request's lengths from a file.
struct RequestFile {
  var promptTokens: Int?
  var images = 0
  var frames = 0
  var audioSeconds = 0.0
  var maxTokens = 256

  init() {}

  /// Reads a file.
  ///
  /// - Throws: `FileError` or `JSONError` naming the file and the key.
  init(path: String) throws { try self.init(JSONNode(file: path)) }

  /// Reads a document.
  ///
  /// - Throws: `JSONError` naming the file and the key.
  init(_ node: JSONNode) throws {
    for key in try node.object().keys {
      let member = try node.member(key)
      switch key {
      case "promptTokens": promptTokens = try Self.count(member, 1 << 24)
      case "images": images = try Self.count(member, 4096)
      case "frames": frames = try Self.count(member, 4096)
      case "audioSeconds":
        audioSeconds = try member.double()
        guard (0...86400).contains(audioSeconds) else { throw member.mismatch("0 to 86400") }
      case "maxTokens":
        maxTokens = try Self.count(member, 1 << 24)
        guard maxTokens > 0 else { throw member.mismatch("at least 1", came: "0") }
      default:
        throw node.mismatch(
          "promptTokens, images, frames, audioSeconds or maxTokens",
          came: key
        )
      }
    }
  }

  /// The request's lengths.
  func shape(of model: Gemma4) throws(TroikaError) -> RequestShape {
    try RequestShape(
      model,
      textTokens: promptTokens ?? 348,
      images: images,
      frames: frames,
      audioSeconds: audioSeconds,
      maxTokens: maxTokens
    )
  }

  private static func count(_ node: JSONNode, _ most: Int) throws(JSONError) -> Int {
    let value = try node.integer()
    guard (0...most).contains(value) else { throw node.mismatch("0 to \(most)", came: "\(value)") }
    return value
  }
}
