import Graph
import Models

/// Why a model folder's files do not fit one another.
public struct ModelFolderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The folder.
  public let path: String
  /// What was expected and what came.
  public let reason: String

  /// One line that names the folder.
  public var description: String { "\(path): \(reason)" }
}

extension Gemma4 {
  /// Checks that every tensor any program reads is there with its shape, and that scales are numbers.
  ///
  /// Each program is traced once at a small shape; nothing is computed.
  ///
  /// - Throws: `ModelFolderError` naming the first tensor that does not fit.
  func validate(over source: any WeightSource, path: String) throws(ModelFolderError) {
    do {
      _ = try text.embedding(tokens: 1, over: source)
      let shape = TextDecoder.ChunkShape(
        layers: configuration.text.layers.indices,
        tokens: 1,
        rows: .all,
        slidingCacheRows: 1,
        fullCacheRows: 1,
        includesHead: true
      )
      _ = try text.chunk(shape, name: "decoder", over: source)
      if let vision {
        _ = try vision.encoder(patches: vision.configuration.patchesPerToken, over: source)
      }
      if let audio { _ = try audio.encoder(frames: 4, over: source) }
      for layer in configuration.text.layers.indices {
        let name = "\(text.prefix)layers.\(layer).layer_scalar"
        let scalar = try source.scalar(of: name)
        guard scalar.isFinite else {
          throw ModelFolderError(
            path: path,
            reason: "tensor '\(name)': expected a finite number, came \(scalar)"
          )
        }
      }
    } catch let error as ModelFolderError {
      throw error
    } catch {
      throw ModelFolderError(path: path, reason: "\(error)")
    }
  }
}
