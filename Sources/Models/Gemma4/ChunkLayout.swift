/// How the decoder's layers are cut into programs.
public struct ChunkLayout: Hashable, Sendable {
  /// Layers of each chunk, in order, without gaps.
  public let ranges: [Range<Int>]

  /// A layout from exclusive ends, the last of which is the layer count.
  ///
  /// - Returns: nil where the ends do not rise from above 0 to the layer count.
  public init?(ends: [Int], layerCount: Int) {
    guard ends.last == layerCount, zip([0] + ends, ends).allSatisfy({ $0 < $1 }) else {
      return nil
    }
    ranges = zip([0] + ends, ends).map { $0..<$1 }
  }

  /// The usual layout: 8, 15, 25, 35 for 35 layers, else up to four parts of nearly equal weight.
  public init(standardFor text: TextConfiguration) {
    let count = text.layers.count
    if count == 35, let known = ChunkLayout(ends: [8, 15, 25, 35], layerCount: 35) {
      self = known
      return
    }
    let parts = max(1, min(4, count / 2))
    let weights = text.layers.indices.map { Double(text.weightCount(ofLayer: $0)) }
    let total = weights.reduce(0, +)
    var ends: [Int] = []
    var sum = 0.0
    for (index, weight) in weights.enumerated() {
      sum += weight
      let left = parts - ends.count
      let isDue = sum >= total * Double(ends.count + 1) / Double(parts) - weight / 2
      if left > 1, isDue, count - index - 1 >= left - 1 { ends.append(index + 1) }
    }
    ranges = zip([0] + ends, ends + [count]).map { $0..<$1 }
  }
}

extension TextConfiguration {
  /// Numbers in the matrices of one layer.
  public func weightCount(ofLayer index: Int) -> Int {
    let layer = layers[index]
    let attention = 2 * hiddenSize * queryHeads * layer.headSize
    let own =
      layer.source == index
      ? (layer.sharesKeysAsValues ? 1 : 2) * hiddenSize * layer.keyValueHeads * layer.headSize : 0
    return attention + own + 3 * hiddenSize * layer.intermediateSize
      + 2 * hiddenSize * perLayerSize
  }
}
