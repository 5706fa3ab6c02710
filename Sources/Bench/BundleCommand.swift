import Foundation
import Graph
import Models
import Troika

/// `troika bundle`: a checkpoint folder as a mapped folder of quantised, chunked weights.
enum BundleCommand: Command {
  static let name = "bundle"
  static let summary = "convert a checkpoint folder to a mapped, quantised, chunked bundle"
  static let help = """
    usage: troika bundle --model DIR --out DIR [OPTIONS]
           troika bundle --synthetic SIZE --out DIR [OPTIONS]

    Makes a bundle: a folder whose weights are mapped in the format they are computed with, one file
    a chunk and tower, with all that generate and verify read of the model. Prints what storing did
    to the weights. Nothing is left under the final name unless all of it is there.

      --model DIR      checkpoint folder in Hugging Face format
      --synthetic S    random weights in the shapes of e2b, e4b or tiny, in place of --model
      --seed N         which random weights (1)
      --out DIR        the folder to make; nothing may be there
      --weights W      int4 (default): one table of 16 per 32 output channels; int4-linear: blocks of
                       32 with a scale; int8: blocks of 32 with a scale; f16
      --chunks N,…     exclusive ends of the decoder's programs
      --prefill N,…    tokens of the prefill programs (64,512)
      --context N      positions of the caches (8192 at most by default)
      --json           one JSON document

    Example:
      troika bundle --model DIR --out e2b.troika --weights int4 --chunks 8,15,25,35 \\
        --prefill 64,512 --context 2048
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: ["model", "synthetic", "seed", "out", "weights", "chunks", "prefill", "context"],
      switches: ["json"]
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    let out = try arguments.required("out")
    guard !out.isEmpty else { throw UsageError("--out: expected a folder to make, got ''") }
    let weights = try arguments.choice("weights", WeightFormat.self) ?? .int4
    let source = try source(arguments)
    let text = source.model.configuration.text
    let writer = BundleWriter(
      weights: weights,
      layout: try Options.layout(arguments, text) ?? ChunkLayout(standardFor: text),
      prefill: try Options.sizes(arguments, "prefill") ?? [64, 512],
      context: try arguments.integer("context", in: 2...text.maximumPositions)
        ?? min(8192, text.maximumPositions)
    )
    for warning in source.warnings { Output.warning(warning) }
    for warning in try EngineFit(writer, source).warnings { Output.warning(warning) }
    let interrupt = Interrupt(limit: 1, signals: [SIGINT, SIGTERM])
    interrupt.onSignal()
    let reports = try writer.write(source, to: out) { done, total in
      ProgressLine.show(
        RequestProgress(stage: "weights", done: done / 1_000_000, total: total / 1_000_000)
      )
      return !interrupt.isAsked
    }
    ProgressLine.clear()
    let summary = BundleSummary(reports, path: out, manifest: try ModelBundle(folder: out).manifest)
    Output.line(
      arguments.has("json") ? summary.json.text(.indented, sortingKeys: false) : summary.text
    )
    return .done
  }

  private static func source(_ arguments: Arguments) throws -> BundleSource {
    guard let size = try arguments.choice("synthetic", SyntheticModel.Size.self) else {
      let path = try arguments.required("model")
      let folder = try ModelFolder(path: path)
      guard let rows = folder.weights as? Checkpoint else {
        throw BundleError.file(path: path, expected: "a checkpoint folder", came: "a bundle")
      }
      return try BundleSource(checkpoint: path, model: folder.model, rows: rows)
    }
    guard arguments["model"] == nil else {
      throw UsageError("--synthetic: expected it or --model, got both")
    }
    let seed = try arguments.integer("seed", in: 0...Int.max) ?? 1
    return try SyntheticModel(size, seed: UInt64(seed)).source
  }
}
