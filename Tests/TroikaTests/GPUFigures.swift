import Devices
import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices

/// Prints how long encoders of E2B's shapes take on the Vulkan unit and the processor.
@Suite(
  .serialized,
  .enabled(
    if: ProcessInfo.processInfo.environment["TROIKA_GPU_FIGURES"] != nil,
    "did not run: figures are printed where TROIKA_GPU_FIGURES is set"
  )
)
struct GPUFigures {
  /// bf16 numbers for every tensor that is asked for, all from one block.
  struct Noise: WeightSource {
    let block: Buffer

    init() throws {
      var random = RandomNumbers(seed: 3)
      block = try Buffer(byteCount: 64 << 20)
      let words = block.pointer.assumingMemoryBound(to: UInt16.self)
      for (index, value) in random.floats(1 << 16).enumerated() {
        words[index] = ElementCoding.narrow(brain: value * 0.05)
      }
      for index in stride(from: 1 << 16, to: 32 << 20, by: 1 << 16) {
        (words + index).update(from: words, count: 1 << 16)
      }
    }

    func type(of name: String) -> TensorType? { nil }
    func type(of name: String, expecting shape: Shape) -> TensorType? { TensorType(.bf16, shape) }
    func bytes(of name: String) throws -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: block.pointer, count: block.byteCount)
    }
  }

  private static var processorSeconds: Double {
    var usage = rusage()
    // 0 is this process.
    getrusage(0, &usage)
    return Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) * 1e-6
  }

  @Test func vision() throws {
    let layers = Int(ProcessInfo.processInfo.environment["TROIKA_GPU_LAYERS"] ?? "2") ?? 2
    let patches = 2520
    let vision = try #require(try SyntheticModel(.e2b).model.vision)
    var configuration = vision.configuration
    configuration.layerCount = layers
    let source = try Noise()
    let tower = VisionTower(
      configuration,
      clips: vision.clips,
      outputSize: vision.outputSize,
      prefix: vision.prefix
    )
    let graph = try tower.encoder(patches: patches, over: source)
      .applying(Graph.standardPasses)
    var random = RandomNumbers(seed: 5)
    var values: [String: Value] = [
      "pixels": try Value(random.floats(patches * 768).map { $0 * 0.5 + 0.5 }, [patches, 768]),
      "positions": try Value((0..<patches * 2).map { Int32($0 / 2 % 50) }, [patches, 2]),
      "count": try Value([Int32(patches)], [1]),
    ]
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try Self.compare("vision, \(layers) layers, \(patches) patches", graph, values, source)
  }

  @Test func audio() throws {
    let frames = 1000
    let audio = try #require(try SyntheticModel(.e2b).model.audio)
    var configuration = audio.configuration
    configuration.layerCount = 2
    let source = try Noise()
    let tower = AudioTower(
      configuration,
      clips: audio.clips,
      outputSize: audio.outputSize,
      prefix: audio.prefix
    )
    let graph = try tower.encoder(frames: frames, over: source).applying(Graph.standardPasses)
    var random = RandomNumbers(seed: 6)
    var values: [String: Value] = [:]
    for input in graph.inputs where input.type.dtype == .f32 {
      values[input.name] = try Value(
        input.name == "mel"
          ? random.floats(input.type.shape.elementCount)
          : [Float](repeating: 1, count: input.type.shape.elementCount),
        input.type.shape
      )
    }
    values["count"] = try Value([250 as Int32], [1])
    for output in graph.outputs { values[output.name] = try Value(graph.nodes[output.node].type) }
    try Self.compare("audio, 2 layers, \(frames) frames", graph, values, source)
  }

  /// What a launch of the smallest segment takes beside a submission of an empty command buffer.
  @Test func launches() throws {
    let gpu = try GPUUnit()
    let tracer = Tracer("smallest", over: try Noise())
    tracer.output("result", tracer.input("input", TensorType(.f32, [4])).clamped(-1, 1))
    let segment = Segment(unit: .gpu, graph: try tracer.finish())
    let executable = try gpu.compile(segment, over: try Noise())
    let values = [
      "input": try Value(TensorType(.f32, [4])), "result": try Value(TensorType(.f32, [4])),
    ]
    let empty = try GPURecording(gpu.context, dispatches: 0, texels: 0, storages: 0)
    try empty.end()
    var times: [String: [Int]] = [:]
    func time(_ label: String, _ body: () throws -> Void) rethrows {
      let start = MonotonicClock.nanoseconds
      try body()
      times[label, default: []].append(MonotonicClock.nanoseconds - start)
    }
    for _ in 0..<3000 {
      try time("driver, empty command buffer") {
        try gpu.context.run([empty], program: "empty")
      }
      try time("segment of one operation") {
        try gpu.wait(for: try executable.launch(values, after: []))
      }
    }
    for (label, times) in times.sorted(by: { $0.key < $1.key }) {
      let sorted = times.dropFirst(100).sorted()
      print("\(label): \(sorted[sorted.count / 2] / 1000) us (median), \(sorted[0] / 1000) least")
    }
  }

  /// What products take in each of the tiles that the family for real devices offers.
  @Test func tiles() throws {
    var options = GPUOptions()
    options.family = .tiles
    let unit = try GPUUnit(options)
    let tuning = GPUTuning(context: unit.context) { graph, weights in
      let executable = try unit.compile(Segment(unit: .gpu, graph: graph), over: weights)
      return try #require(executable as? GPUExecutable)
    }
    for choice in unit.context.tileChoices {
      for (tiles, nanoseconds) in try tuning.times(choice) {
        print("\(tiles.shared): \(nanoseconds / 1000) us for 0.1 GFLOP")
      }
    }
  }

  private static func compare(
    _ label: String,
    _ graph: Graph,
    _ values: [String: Value],
    _ source: Noise
  ) throws {
    let gpu = try GPUUnit()
    for unit in [gpu as any ComputeUnit, try CPUUnit(threads: 2)] {
      let executable = try unit.compile(
        Segment(unit: unit.profile.unit, graph: graph),
        over: source
      )
      for round in 0..<2 {
        let (start, used) = (MonotonicClock.nanoseconds, processorSeconds)
        try unit.wait(for: try executable.launch(values, after: []))
        let seconds = Double(MonotonicClock.nanoseconds - start) * 1e-9
        print(
          "\(label), \(unit.profile.unit), round \(round):",
          String(format: "%.2f s, %.2f processor s", seconds, processorSeconds - used)
        )
      }
      if let program = executable as? GPUExecutable { try printShares(program, values) }
    }
  }

  private static func printShares(_ program: GPUExecutable, _ values: [String: Value]) throws {
    var shares: [GPUShader: (count: Int, nanoseconds: Int)] = [:]
    for (shader, nanoseconds) in try program.profile(
      values,
      clock: { Int(processorSeconds * 1e9) }
    ) {
      let known = shares[shader] ?? (0, 0)
      shares[shader] = (known.count + 1, known.nanoseconds + nanoseconds)
    }
    for (shader, share) in shares.sorted(by: { $0.value.nanoseconds > $1.value.nanoseconds }) {
      print(
        "  \(shader): \(share.count) dispatches, \(share.nanoseconds / 1_000_000) ms of processor time"
      )
    }
  }
}
