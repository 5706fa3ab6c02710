import Graph

extension Gemma4 {
  /// The programs of fixed shapes that a bundle is made for.
  func programs(
    _ layout: ChunkLayout,
    prefill: [Int],
    context: Int,
    hasOwnHead: Bool,
    over source: any WeightSource
  ) throws(GraphError) -> [BundleManifest.Program] {
    let text = hasOwnHead ? text.untied : text
    var programs: [BundleManifest.Program] = []
    func add(_ name: String, _ graph: Graph) {
      programs.append(
        BundleManifest.Program(
          name: name,
          operationCount: graph.nodes.count { !$0.isSource },
          weightByteCount: graph.weightByteCount
        )
      )
    }
    for tokens in Set([1] + prefill.map { min($0, context) }).sorted() {
      for (index, range) in layout.ranges.enumerated() {
        let shape = TextDecoder.ChunkShape(
          layers: range,
          tokens: tokens,
          rows: tokens == 1 ? .all : .last,
          slidingCacheRows: min(context, configuration.text.slidingWindow),
          fullCacheRows: context,
          includesHead: index == layout.ranges.count - 1
        )
        let name = "chunk\(index + 1)." + (tokens == 1 ? "decode" : "prefill\(tokens)")
        add(name, try text.chunk(shape, name: name, over: source))
      }
    }
    if let vision {
      for patches in vision.configuration.buckets {
        add("vision\(patches)", try vision.encoder(patches: patches, over: source))
      }
    }
    if let audio {
      for frames in AudioConfiguration.buckets {
        add("audio\(frames)", try audio.encoder(frames: frames, over: source))
      }
    }
    return programs
  }
}
