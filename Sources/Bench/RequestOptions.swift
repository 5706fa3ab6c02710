import Devices
import Foundation
import Graph
import Models
import Troika

/// The options of commands that answer requests: which model runs, where, and how.
struct RequestOptions {
  static let valued = PlacementOptions.valued.union(generating).union(media)
    .union(["kernels", "inject"])
  static let repeated: Set<String> = ["image", "video", "audio", "inject"]
  static let switches = PlacementOptions.switches.union([
    "include-audio", "thinking", "raw", "json", "serial",
  ])

  /// Options of media and the prompt around them.
  static let media: Set<String> = [
    "system", "image", "video", "audio", "fps", "max-frames", "frame-sampling", "media-ple",
    "media-style",
  ]
  private static let generating: Set<String> = [
    "max-tokens", "temperature", "top-k", "top-p", "seed",
  ]

  static let help = """
    \(PlacementOptions.help)
      --kernels NAME      avx512, avx2 or portable (the best this processor has)
      --max-tokens N      tokens to generate at most (256)
      --temperature T     sample in place of taking the likeliest token
      --top-k K, --top-p P, --seed S
    \(mediaHelp)
      --thinking          ask the model to think
      --raw               special tokens in the prompt count as such
      --json              one JSON document
      --serial            nothing runs at the same time: for comparison, with the same tokens
      --inject FAULT,…    make units fail, to see what follows: UNIT:FAULT@WHEN with compile,
                          fail, nan, slow=Nx, hang or gone; launch=N, PROGRAM or PROGRAM#N, + behind for
                          all later ones; random; seed=N, rate=R, limit=Ns; see Docs/Faults.md
    """

  static let mediaHelp = """
      --system S          system turn
      --image F           picture; may be repeated, like the next two
      --video F           clip
      --audio F           recording
      --fps N             frames a second at most (1)
      --max-frames N      frames a clip at most (8)
      --include-audio     a clip's soundtrack follows its frames
      --frame-sampling R  even (default) or reference
      --media-ple R       per-layer input of media positions: pad (default) or zero
      --media-style R     newlines around media: plain, spaced or bare (the folder's)
    """

  let arguments: Arguments

  /// Loads the model, cuts checked against it.
  ///
  /// - Parameter standIn: the unit that takes the place of `gpu`; nil for none.
  /// - Returns: the model, and what `auto` stood for where that was asked for.
  /// - Throws: where it cannot be loaded.
  func loadModel(
    gpuStandIn standIn: UnitID? = nil
  ) async throws -> (troika: Troika, automatic: AutoPlacement?) {
    try Options.kernels(arguments)
    return try await PlacementOptions(arguments).loadModel(
      faults: try faults(),
      overlaps: !arguments.has("serial"),
      gpuStandIn: standIn
    )
  }

  /// The faults of all `--inject` options.
  func faults() throws -> FaultPlan {
    let texts = arguments.options.filter { $0.name == "inject" }.map(\.value)
    return texts.isEmpty ? FaultPlan() : try FaultPlan(parsing: texts.joined(separator: ","))
  }

  /// How answers are made.
  func generation(maxTokens: Int = 256) throws -> GenerationOptions {
    GenerationOptions(
      maxTokens: try arguments.integer("max-tokens", in: 1...(1 << 20)) ?? maxTokens,
      sampling: SamplingOptions(
        temperature: try arguments.number("temperature", in: 0...100),
        topK: try arguments.integer("top-k", in: 0...(1 << 24)),
        topP: try arguments.number("top-p", in: 1e-9...1),
        seed: UInt64(try arguments.integer("seed", in: 0...Int.max) ?? 0)
      ),
      mediaStyle: try arguments.choice("media-style", MediaStyle.self),
      mediaPerLayer: try arguments.choice("media-ple", MediaPerLayerInput.self) ?? .pad,
      thinking: arguments.has("thinking"),
      isRaw: arguments.has("raw")
    )
  }

  /// How frames are taken from clips.
  func video() throws -> VideoOptions {
    VideoOptions(
      fps: try arguments.number("fps", in: 0.001...1000) ?? 1,
      maxFrames: try arguments.integer("max-frames", in: 1...100_000) ?? 8,
      includeAudio: arguments.has("include-audio"),
      sampling: try arguments.choice("frame-sampling", VideoOptions.Sampling.self) ?? .even
    )
  }

  /// The media of the command line, in its order.
  func media() throws -> [MediaSource] {
    let options = try video()
    return arguments.options.compactMap { option in
      let url = URL(fileURLWithPath: option.value)
      switch option.name {
      case "image": return .image(url)
      case "video": return .video(url, options)
      case "audio": return .audio(url)
      default: return nil
      }
    }
  }
}
