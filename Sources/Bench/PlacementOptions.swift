import Devices
import Foundation
import Graph
import Models
import Troika

/// The options that say which model runs and where, shared by every command that takes a placement.
///
/// What the command line says overrides what a placement file says.
struct PlacementOptions {
  static let valued: Set<String> = [
    "model", "placement", "engine", "chunks", "prefill", "shared-layers", "context", "threads",
  ]
  static let switches: Set<String> = ["no-fallback"]

  static let help = """
      --model DIR         checkpoint folder in Hugging Face format
      --placement P       a unit for all: cpu (default), reference, gpu:emulated, neuralEngine;
                          mission; KEY=UNIT,… with keys vision, audio, embed, chunks, chunkN,
                          prefill, decode, prefill.chunkN, head, or a glob over operations;
                          or a file, FILE.json
      --engine K=V,…      switches of the neural engine: accumulate=f16|f32, flush=on|off,
                          program-bytes=N|none, layers=N|none
      --no-fallback       a program that its unit refuses is an error
      --chunks N,…        exclusive ends of the decoder's programs
      --prefill N,…       token counts of prefill programs (64,512)
      --shared-layers R   last (default): layers without caches of their own run for the last
                          position; all: for the whole batch
      --context N         positions of the caches (8192 at most by default)
      --threads N         worker threads of the cpu unit (all processors)
    """

  let arguments: Arguments
  /// The placement with what its file says.
  let file: PlacementFile

  /// Reads the placement, from a file where the value names one.
  ///
  /// - Throws: where it cannot be read.
  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    let text = arguments["placement"] ?? "auto"
    file =
      text.hasSuffix(".json")
      ? try PlacementFile(path: text) : PlacementFile(try Placement(parsing: text))
  }

  /// The model's folder.
  func path() throws -> String { try arguments.required("model") }

  /// How the model is loaded; cuts are checked against it.
  func load(layerCount: () throws -> Int) throws -> Troika.LoadOptions {
    var engine = file.engine
    if let text = arguments["engine"] { engine = try EngineOptions(parsing: text).over(engine) }
    return Troika.LoadOptions(
      placement: file.placement,
      layout: try layout(layerCount),
      context: try arguments.integer("context", in: 2...(1 << 24)),
      prefillShapes: try arguments.integers("prefill", in: 1...(1 << 20)) ?? file.prefill,
      sharedLayers: try arguments.choice("shared-layers", SharedLayers.self) ?? file.sharedLayers
        ?? .last,
      engine: engine,
      threads: try Options.threads(arguments),
      allowsFallback: arguments.has("no-fallback") ? false : file.allowsFallback ?? true
    )
  }

  /// How a model folder is loaded; it is opened only where there are cuts to check.
  func load() throws -> Troika.LoadOptions {
    let path = try path()
    return try load { try ModelFolder(path: path).model.configuration.text.layers.count }
  }

  private func layout(_ layerCount: () throws -> Int) throws -> ChunkLayout? {
    guard let text = arguments["chunks"] else {
      return file.cuts == nil ? nil : try file.layout(layerCount: try layerCount())
    }
    let count = try layerCount()
    let ends = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard let layout = ChunkLayout(ends: ends, layerCount: count) else {
      throw UsageError(
        "--chunks: expected rising ends of which the last is \(count), got '\(text)'"
      )
    }
    return layout
  }
}
