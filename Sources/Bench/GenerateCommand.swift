import Devices
import Foundation
import Graph
import Models
import Troika

/// `troika generate`: one prompt, one answer.
enum GenerateCommand: Command {
  static let name = "generate"
  static let summary = "answer a prompt with text, images, videos and audio"
  static let help = """
    usage: troika generate --model DIR [OPTIONS] [--] PROMPT

    Answers one prompt. Media go where <|image|>, <|video|> or <|audio|> stand in the prompt; media
    without a placeholder go in front, in command-line order. The answer is streamed.

    \(RequestOptions.help)
      --timeline          where each part ran and how long, after the answer
      --trace F           write what ran when, for Perfetto or chrome://tracing
      --simulate X        predict the same request on a device profile besides: its timeline is the
                          second process of the trace

    Example:
      troika generate --model DIR --image photo.jpg "Describe this image"
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: RequestOptions.valued.union(["trace", "simulate"]),
      repeated: RequestOptions.repeated,
      switches: RequestOptions.switches.union(["timeline"])
    )
    if let path = arguments["trace"] { try FileOutput.check(path) }
    let options = RequestOptions(arguments: arguments)
    let media = try options.media()
    if arguments.has("include-audio"), arguments["video"] == nil {
      Output.warning("--include-audio: there is no video whose sound could follow")
    }
    let prompt = arguments.words.joined(separator: " ")
    let request = try Request(
      prompt: prompt,
      media: media,
      system: arguments["system"],
      options: try options.generation()
    )
    let profile = try arguments["simulate"].map { try KnownProfiles.profile($0) }
    try profile?.check(PlacementOptions(arguments).file.placement)
    let (troika, automatic) = try await load(options, simulates: profile != nil)
    if let automatic { try profile?.check(automatic.placement) }
    for warning in troika.warnings { Output.warning(warning) }
    let isJSON = arguments.has("json")
    let response = try await answer(request, troika, streams: !isJSON)
    for warning in response.warnings { Output.warning(warning) }
    let simulation = try profile.map {
      try simulate(response, troika.folder, arguments, automatic?.placement, on: $0)
    }
    if isJSON {
      let fields = simulation.map { [("simulated", SimulationJSON.value($0))] } ?? []
      let document = JSONValue.object(
        fields: ResponseJSON.fields(response)
          + ResponseJSON.placement(troika.placement, automatic) + fields
      )
      Output.line(document.text(.compact, sortingKeys: false))
    } else {
      Output.write("\n")
      if arguments.has("timeline") {
        Output.note(TimelineText.summary(response))
        OverlapText.lines(response.overlap).forEach { Output.note($0) }
        Output.note(TimelineText.placement(troika.placement, automatic))
        TimelineText.fallbacks(troika.fallbacks).forEach { Output.note($0) }
      }
      if let simulation { SimulationText.lines(simulation).forEach { Output.note($0) } }
    }
    if let path = arguments["trace"] {
      let simulated = simulation.map { [($0.device + " (simulated)", $0.timeline)] } ?? []
      try TraceFile.write([("this machine", response.timeline)] + simulated, to: path)
    }
    return response.finishReason == .cancelled ? .interrupted : .done
  }

  /// Loads the model; a GPU that is only simulated need not be here.
  private static func load(
    _ options: RequestOptions,
    simulates: Bool
  ) async throws -> (troika: Troika, automatic: AutoPlacement?) {
    do {
      return try await options.loadModel()
    } catch DeviceError.unavailable(let unit, _) where simulates && unit == UnitID.gpu.name {
      Output.warning("gpu: not available here, its parts run on gpu:emulated")
      return try await options.loadModel(gpuStandIn: .emulatedGPU)
    }
  }

  /// The request as it was answered, on a device profile.
  private static func simulate(
    _ response: Response,
    _ folder: ModelFolder,
    _ arguments: Arguments,
    _ automatic: Placement?,
    on profile: DeviceProfile
  ) throws -> Simulation {
    let placement = try PlacementOptions(arguments)
    let simulator = try DeviceSimulator(
      PlannedModel(folder),
      try placement.load { folder.model.configuration.text },
      on: profile,
      sharedLayers: try arguments.choice("shared-layers", TextDecoder.SharedLayers.self)
        ?? placement.file.sharedLayers,
      batches: try arguments.choice("batches", BatchChoice.self) ?? placement.file.batches
    )
    var shape = response.shape
    shape.maxTokens = max(1, response.tokens.count)
    return try placement.locating {
      try simulator.simulate(shape, automatic ?? placement.file.placement)
    }
  }

  /// Answers with progress on a terminal; Ctrl-C ends the answer early.
  private static func answer(
    _ request: Request,
    _ troika: Troika,
    streams: Bool
  ) async throws -> Response {
    let interrupt = Interrupt(limit: 2)
    let task = Task {
      try await troika.respond(
        to: request,
        onText: {
          ProgressLine.clear()
          if streams { Output.write($0) }
        },
        onProgress: { ProgressLine.show($0) }
      )
    }
    interrupt.onSignal { task.cancel() }
    defer { ProgressLine.clear() }
    return try await task.value
  }
}
