import Devices
import Foundation
import Graph
import Media
import Models

/// Work that no unit does: reading files, preparing media, choosing tokens.
struct HostWork: TimedWork {
  let name: String
  let body: () throws -> Void

  func run() throws -> [Timeline.Event] {
    try body()
    return []
  }
}

/// The host work of a suite over files that it writes into a folder of its own.
struct HostStages {
  let processor: ProcessorSettings
  let suite: BenchSuite
  let vocabularySize: Int
  /// Where made-up files are written.
  let folder: URL
  /// Files that are read beside them.
  let files: [MediaSource]
  /// Whether a stage is asked for; nothing is written or read for others.
  let isWanted: (String) -> Bool

  /// The stages, in the order of a request.
  ///
  /// - Throws: where a file cannot be written or read.
  func works() throws -> [HostWork] {
    var works: [HostWork] = []
    for size in suite.images {
      works += try image(size.text) {
        try write("image\(size.text).bmp", MadeUpMedia.bmp(size.width, size.height))
      }
    }
    for size in suite.frames {
      works += try clip(size.text, VideoOptions()) {
        try write("clip\(size.text).y4m", MadeUpMedia.y4m(size.width, size.height, 8))
      }
    }
    for seconds in suite.audioSeconds {
      works += try sound("\(seconds)s") {
        try write("sound\(seconds)s.wav", MadeUpMedia.wav(seconds: seconds))
      }
    }
    for file in files {
      let (name, path) = (":" + file.url.lastPathComponent, file.url.path)
      switch file {
      case .image: works += try image(name) { path }
      case .video(_, let options): works += try clip(name, options) { path }
      case .audio, .soundtrack: works += try sound(name) { path }
      }
    }
    let decoding = works.filter { $0.name.hasPrefix("decode") }
    let preparing = works.filter { !$0.name.hasPrefix("decode") }
    return try decoding + preparing + sampling()
  }

  private func write(_ name: String, _ data: Data) throws -> String {
    let url = folder.appendingPathComponent(name)
    try data.write(to: url)
    return url.path
  }

  private func isWanted(_ kinds: String..., of name: String) -> Bool {
    kinds.contains { isWanted($0 + name) }
  }

  private func image(_ name: String, _ file: () throws -> String) throws -> [HostWork] {
    guard isWanted("decode.image", "preprocess.image", of: name) else { return [] }
    let path = try file()
    let image = try ImageFile.decode(path: path).image
    return [
      HostWork(name: "decode.image\(name)") { _ = try ImageFile.decode(path: path) },
      try patches("preprocess.image\(name)", image, .image),
    ]
  }

  private func clip(
    _ name: String,
    _ options: VideoOptions,
    _ file: () throws -> String
  ) throws -> [HostWork] {
    guard isWanted("decode.clip", "preprocess.frame", of: name) else { return [] }
    let path = try file()
    func frames() throws -> [VideoFrame] {
      let reader = try VideoReader(path: path)
      return try reader.frames(
        reader.timeline.even(fps: options.fps, maxFrames: options.maxFrames)
      )
    }
    var works = [HostWork(name: "decode.clip\(name)") { _ = try frames() }]
    if let first = try frames().first {
      works.append(try patches("preprocess.frame\(name)", first.image, .video))
    }
    return works
  }

  /// A picture as the tower takes it: resized, cut into patches, in the tower's order, as numbers.
  private func patches(
    _ name: String,
    _ image: RGBImage,
    _ scale: PixelScale
  ) throws -> HostWork {
    let geometry = scale == .image ? processor.image : processor.video
    let preprocessor = ImagePreprocessor(geometry: geometry)
    return HostWork(name: name) {
      let patches = try preprocessor.patches(image)
      let prepared = PreparedImage(patches: patches, scale: scale)
      let order = prepared.blockOrder(kernel: geometry.poolingKernel)
      let pixels = try Value(TensorType(.f32, [patches.count, patches.valuesPerPatch]))
      prepared.write(order: order, to: pixels.pointer.assumingMemoryBound(to: Float.self))
    }
  }

  private func sound(_ name: String, _ file: () throws -> String) throws -> [HostWork] {
    guard isWanted("decode.sound", "preprocess.sound", of: name) else { return [] }
    let path = try file()
    let samples = try AudioFile.decode(path: path).samples
    let mel = try LogMel(parameters: processor.mel)
    return [
      HostWork(name: "decode.sound\(name)") { _ = try AudioFile.decode(path: path) },
      HostWork(name: "preprocess.sound\(name)") {
        for block in AudioBlocks.split(samples) { _ = mel(block) }
      },
    ]
  }

  private func sampling() throws -> [HostWork] {
    let logits = try Value(TensorType(.f32, [1, vocabularySize]))
    logits.fillWithNoise()
    let options = [
      ("greedy", SamplingOptions()),
      ("top40", SamplingOptions(temperature: 1, topK: 40, topP: 0.95, seed: 1)),
    ]
    return try options.map { name, options in
      let sampler = try Sampler(options)
      return HostWork(name: "sample.\(name)") {
        var sampler = sampler
        let base = UnsafePointer(logits.pointer.assumingMemoryBound(to: Float.self))
        _ = try sampler.next(UnsafeBufferPointer(start: base, count: vocabularySize))
      }
    }
  }
}
