import Foundation
import Models
import Troika

/// A bundle in a folder of its own that goes away with it.
final class TemporaryBundle: Sendable {
  let url: URL
  private let folder: URL

  /// A bundle of a checkpoint folder.
  convenience init(
    of model: String,
    _ weights: WeightFormat,
    chunks: [Int]? = nil,
    prefill: [Int] = [64, 512],
    context: Int = 2048
  ) throws {
    let opened = try ModelFolder(path: model)
    let text = opened.model.configuration.text
    let layout = chunks.flatMap { ChunkLayout(ends: $0, layerCount: text.layers.count) }
    let source = try BundleSource(
      checkpoint: model,
      model: opened.model,
      rows: Checkpoint(folder: model)
    )
    try self.init(
      source,
      BundleWriter(
        weights: weights,
        layout: layout ?? ChunkLayout(standardFor: text),
        prefill: prefill,
        context: context
      )
    )
  }

  /// A bundle of any source.
  init(_ source: BundleSource, _ writer: BundleWriter) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    url = folder.appendingPathComponent("model.troika")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    _ = try writer.write(source, to: url.path)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}
