import Devices
import Foundation
import Graph
import Media
import Models

extension Verification {
  /// The media files of the set by kind and name.
  func mediaPath(_ kind: String, _ name: String) throws -> String {
    switch kind {
    case "image":
      for suffix in ["png", "jpg", "jpeg", "webp"] where set.has("media/images/\(name).\(suffix)") {
        return try set.path("media/images/\(name).\(suffix)")
      }
      return try set.path("media/images/\(name).png")
    case "audio": return try set.path("media/audio/\(name).wav")
    default: return try set.folder("media/videos/\(name)")
    }
  }

  func prepareImage(_ name: String) throws -> PreparedImage {
    let decoded = try ImageFile.decode(path: mediaPath("image", name))
    let patches = try ImagePreprocessor(geometry: folder.processor.image).patches(decoded.image)
    return PreparedImage(patches: patches, scale: .image)
  }

  func prepareVideo(
    _ name: String,
    geometry: ImageGeometry? = nil
  ) throws -> (frames: [PreparedImage], seconds: [Double]) {
    let videos = try set.manifest.member("variant").elements("videos")
    let fps = try videos.first { try $0.string("name") == name }?.double("fps") ?? 24
    let reader = try VideoReader(folder: mediaPath("video", name), fps: fps)
    let choices = reader.timeline.reference(numFrames: folder.processor.referenceFrames)
    let processor = ImagePreprocessor(geometry: geometry ?? folder.processor.video)
    let frames = try reader.frames(choices).map {
      PreparedImage(patches: try processor.patches($0.image), scale: .video)
    }
    return (frames, choices.map(\.seconds))
  }

  func prepareAudio(_ name: String) throws -> PreparedAudio {
    let decoded = try AudioFile.decode(path: mediaPath("audio", name))
    return PreparedAudio(mel: try LogMel(parameters: folder.processor.mel)(decoded.samples))
  }

  /// Names of a kind that a tensor file has something for, in order of name.
  func names(_ file: SafetensorsFile, _ kind: String) -> [String] {
    let found = file.entries.compactMap { entry -> String? in
      let parts = entry.name.split(separator: ".")
      return parts.count >= 3 && parts[0] == kind ? String(parts[1]) : nil
    }
    return Set(found).sorted()
  }

  func verifyPreprocess(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("preprocess")
    for name in names(goldens, "image") {
      let decoded = try ImageFile.decode(path: mediaPath("image", name)).image
      if goldens.entry("image.\(name).upright_rgb") != nil {
        let golden = try goldens.integers("image.\(name).upright_rgb")
        collect(.exact("preprocess", "\(name) upright", golden == decoded.pixels.map { Int($0) }))
      }
      var golden = try goldens.integers("image.\(name).patches_u8")
      let positions = try goldens.integers("image.\(name).position_ids")
      for backend in [ResizeBackend.torchvision, .pillow] {
        let processor = ImagePreprocessor(geometry: folder.processor.image, backend: backend)
        let patches = try processor.patches(decoded)
        if backend == .pillow, goldens.entry("image.\(name).pil_delta_index") != nil {
          let places = try goldens.integers("image.\(name).pil_delta_index")
          let deltas = try goldens.integers("image.\(name).pil_delta_value")
          for (place, delta) in zip(places, deltas) { golden[place] += delta }
        }
        collect(levels("preprocess", "\(name) \(backend.rawValue)", patches.levels, golden))
        if backend == .torchvision {
          let same = positions == patches.positions.map { Int($0) }
          collect(.exact("preprocess", "\(name) positions", same))
        }
      }
    }
    for name in names(goldens, "video") {
      let golden = try goldens.integers("video.\(name).patches_u8")
      let frames = try prepareVideo(name).frames
      collect(levels("preprocess", "video \(name)", frames.flatMap(\.patches.levels), golden))
    }
  }

  func verifyPreprocessE2B(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("preprocess_e2b")
    for name in names(goldens, "image") {
      let decoded = try ImageFile.decode(path: mediaPath("image", name)).image
      let patches = try ImagePreprocessor(geometry: .e2bImage).patches(decoded)
      let golden = try goldens.integers("image.\(name).patches_u8")
      let width = patches.valuesPerPatch
      let chosen = try goldens.integers("image.\(name).patch_indices").flatMap { index in
        index < patches.count
          ? Array(patches.levels[index * width..<(index + 1) * width]) : []
      }
      collect(levels("preprocess_e2b", name, chosen, golden))
    }
  }

  private func levels(
    _ stage: String,
    _ name: String,
    _ got: [UInt8],
    _ golden: [Int]
  ) -> Check {
    let differing = zip(got, golden).count { Int($0) != $1 }
    return .exact(
      stage,
      name,
      got.count == golden.count && differing == 0,
      "\(differing) of \(golden.count) levels differ, got \(got.count)"
    )
  }

  func verifyVision(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("vision")
    guard let vision = folder.model.configuration.vision else { return }
    let encoders = try encoders()
    let layers = (0..<vision.layerCount).map { "layers.\($0)" }
    let features = isHalf(.vision) ? Tolerance.halfFeatures : .features
    let inner = isHalf(.vision) ? Tolerance.halfHidden : .encoder
    for name in names(goldens, "image") {
      let key = "image.\(name)."
      let isFull = goldens.entry(key + "embed") != nil
      let image = try prepareImage(name)
      let taps: Set<String> = isFull ? Set(layers + ["embed", "pooled"]) : []
      let encoding = try encoders.encode(image, taps: taps)
      let (projected, values) = (encoding.features, encoding.outputs)
      if isFull {
        let order = image.blockOrder(kernel: vision.poolingKernel)
        func rows(_ tap: String) -> [Float] {
          // Padding of a fixed shape stands behind the real patches.
          values[tap]?.rows(0, count: order.count).floats
            .unshuffled(order, width: vision.hiddenSize) ?? []
        }
        collect(
          inner.check(
            "vision",
            "\(name) embed",
            rows("embed"),
            try goldens.numbers(key + "embed"),
            width: vision.hiddenSize
          )
        )
        collect(
          inner.check(
            "vision",
            "\(name) hidden",
            layers.flatMap(rows),
            try goldens.numbers(key + "hidden"),
            width: vision.hiddenSize
          )
        )
        collect(
          inner.check(
            "vision",
            "\(name) pooled",
            values["pooled"]?.rows(0, count: projected.type.shape[0]).floats ?? [],
            try goldens.numbers(key + "pooled"),
            width: vision.hiddenSize
          )
        )
      }
      collect(
        features.check(
          "vision",
          "\(name) projected",
          projected.floats,
          try goldens.numbers(key + "projected"),
          width: folder.model.configuration.text.hiddenSize
        )
      )
    }
    for name in names(goldens, "video") {
      let frames = try prepareVideo(name).frames
      let got = try frames.flatMap { try encoders.encode($0).features.floats }
      collect(
        features.check(
          "vision",
          "video \(name) projected",
          got,
          try goldens.numbers("video.\(name).projected"),
          width: folder.model.configuration.text.hiddenSize
        )
      )
    }
  }

  func verifyAudio(_ collect: (Check) -> Void) throws {
    let goldens = try set.tensors("audio")
    guard let audio = folder.model.configuration.audio else { return }
    let encoders = try encoders()
    let layers = (0..<audio.layerCount).map { "layers.\($0)" }
    let features = isHalf(.audio) ? Tolerance.halfFeatures : .features
    let inner = isHalf(.audio) ? Tolerance.halfHidden : .encoder
    let width = folder.model.configuration.text.hiddenSize
    let mel = try LogMel(parameters: folder.processor.mel)
    if goldens.entry("window") != nil {
      collect(
        Tolerance.mel.check(
          "audio",
          "window",
          mel.window,
          try goldens.numbers("window"),
          width: mel.window.count
        )
      )
      collect(
        Tolerance.mel.check(
          "audio",
          "mel filters",
          mel.melFilters.map { Float($0) },
          try goldens.numbers("mel_filters"),
          width: mel.parameters.featureSize
        )
      )
    }
    for name in Set(goldens.entries.map { String($0.name.prefix { $0 != "." }) }).sorted()
    where goldens.entry(name + ".mel") != nil {
      let prepared = try prepareAudio(name)
      collect(
        Tolerance.mel.check(
          "audio",
          "\(name) mel",
          prepared.mel.values,
          try goldens.numbers(name + ".mel"),
          width: audio.melBins
        )
      )
      guard goldens.entry(name + ".projected") != nil else { continue }
      let isFull = goldens.entry(name + ".hidden") != nil
      let taps: Set<String> = isFull ? Set(layers + ["subsampled", "output"]) : []
      let encoding = try encoders.encode(prepared, taps: taps)
      let (projected, values) = (encoding.features, encoding.outputs)
      if isFull {
        for (tap, golden) in [("subsampled", "subsampled"), ("output", "output")] {
          collect(
            inner.check(
              "audio",
              "\(name) \(tap)",
              values[tap]?.rows(0, count: projected.type.shape[0]).floats ?? [],
              try goldens.numbers("\(name).\(golden)"),
              width: audio.hiddenSize
            )
          )
        }
        collect(
          inner.check(
            "audio",
            "\(name) hidden",
            layers.flatMap {
              values[$0]?.rows(0, count: projected.type.shape[0]).floats ?? []
            },
            try goldens.numbers(name + ".hidden"),
            width: audio.hiddenSize
          )
        )
      }
      collect(
        features.check(
          "audio",
          "\(name) projected",
          projected.floats,
          try goldens.numbers(name + ".projected"),
          width: width
        )
      )
    }
  }
}

extension [Float] {
  /// Rows put back where `order` took them from.
  func unshuffled(_ order: [Int], width: Int) -> [Float] {
    var result = [Float](repeating: 0, count: count)
    for (place, source) in order.enumerated() {
      result.replaceSubrange(
        source * width..<(source + 1) * width,
        with: self[place * width..<(place + 1) * width]
      )
    }
    return result
  }
}
