import Devices
import Foundation
import Graph
import Models
import Troika

/// The options of `generate` and `chat` that say which model runs, where, and how.
struct RequestOptions {
  static let valued: Set<String> = [
    "model", "system", "image", "video", "audio", "fps", "max-frames", "frame-sampling",
    "placement", "gpu", "max-tokens", "context", "temperature", "top-k", "top-p", "seed",
    "media-ple", "media-style", "threads", "chunks", "prefill", "kernels",
  ]
  static let repeated: Set<String> = ["image", "video", "audio"]
  static let switches: Set<String> = ["include-audio", "no-fallback", "thinking", "raw", "json"]

  static let help = """
      --model DIR         checkpoint folder in Hugging Face format
      --system S          system turn
      --image F           picture; may be repeated, like the next two
      --video F           clip
      --audio F           recording
      --fps N             frames a second at most (1)
      --max-frames N      frames a clip at most (8)
      --include-audio     a clip's soundtrack follows its frames
      --frame-sampling R  even (default) or reference
      --placement P       a unit for all: cpu (default), reference, gpu, gpu:emulated,
                          neuralEngine; mission; or KEY=UNIT,… with keys vision, audio, embed, chunks, chunkN,
                          prefill, decode, prefill.chunkN, head, or a glob over operations
      --gpu NAME|INDEX    the Vulkan device (the best there is; see devices)
      --no-fallback       a program that its unit refuses is an error
      --threads N         worker threads of the cpu unit (all processors)
      --kernels NAME      avx512, avx2 or portable (the best this processor has)
      --chunks N,…        exclusive ends of the decoder's programs
      --prefill N         tokens of a prefill batch at most (512)
      --context N         positions of the caches (8192 at most by default)
      --max-tokens N      tokens to generate at most (256)
      --temperature T     sample in place of taking the likeliest token
      --top-k K, --top-p P, --seed S
      --media-ple R       per-layer input of media positions: pad (default) or zero
      --media-style R     newlines around media: plain, spaced or bare (the folder's)
      --thinking          ask the model to think
      --raw               special tokens in the prompt count as such
      --json              one JSON document
    """

  let arguments: Arguments

  /// Where each part runs.
  func placement() throws -> Placement {
    try Placement(parsing: arguments["placement"] ?? "auto")
  }

  /// How the model is loaded.
  func load() throws -> Troika.LoadOptions {
    Troika.LoadOptions(
      placement: try placement(),
      context: try arguments.integer("context", in: 2...(1 << 24)),
      prefillBatch: try arguments.integer("prefill", in: 1...(1 << 20)) ?? 512,
      threads: try Options.threads(arguments),
      gpu: Options.gpu(arguments),
      allowsFallback: !arguments.has("no-fallback")
    )
  }

  /// Loads the model, cuts checked against it.
  func loadModel() async throws -> Troika {
    if let kernels = arguments["kernels"] {
      guard ["avx512", "avx2", "portable"].contains(kernels) else {
        throw UsageError("--kernels: expected avx512, avx2 or portable, got '\(kernels)'")
      }
      try CPUUnit.useKernels(kernels)
    }
    var options = try load()
    let path = try arguments.required("model")
    if arguments["chunks"] != nil {
      let folder = try ModelFolder(path: path)
      options.layout = try Options.layout(arguments, folder.model.configuration.text)
    }
    return try await Troika.load(model: URL(fileURLWithPath: path), options: options)
  }

  /// How answers are made.
  func generation() throws -> GenerationOptions {
    GenerationOptions(
      maxTokens: try arguments.integer("max-tokens", in: 1...(1 << 20)) ?? 256,
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
