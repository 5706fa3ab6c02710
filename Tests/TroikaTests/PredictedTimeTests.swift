import Devices
import Foundation
import Graph
import TestSupport
import Testing

@testable import Troika

@Suite struct PredictedTimeTests {
  private static let processor = UnitRate(flopsPerSecond: 100e9, weightBytesPerSecond: 10e9)

  private func device(flops: Double, bytes: Double) -> SoftwareDevice {
    SoftwareDevice(
      name: "device",
      rate: UnitRate(flopsPerSecond: flops, weightBytesPerSecond: bytes),
      processor: Self.processor
    )
  }

  private func part(
    _ name: String,
    _ programs: (flops: Int, weights: Int)...
  ) -> PartWork {
    PartWork(
      name: name,
      subject: "a picture",
      programs: programs.map { .init(flops: $0.flops, weightByteCount: $0.weights) }
    )
  }

  @Test func aProgramTakesAsLongAsItsSlowerHalf() {
    let work = part("vision", (200_000_000_000, 1_000_000_000), (1_000_000_000, 5_000_000_000))
    #expect(abs(work.seconds(at: Self.processor) - 2.5) < 1e-9)
    #expect(part("vision").seconds(at: Self.processor) == 0)
  }

  @Test func moreThanFiveTimesIsALineWithBothFigures() {
    let vision = part("vision", (200_000_000_000, 0))
    #expect(device(flops: 20e9, bytes: 1e9).warning([vision]) == nil)
    #expect(
      device(flops: 10e9, bytes: 10e9).warning([vision])
        == "gpu: device is software, predicted: vision 20.0 s a picture, 2.0 s on the cpu"
    )
    #expect(device(flops: 10e9, bytes: 10e9).warning([part("vision")]) == nil)
    #expect(device(flops: 10e9, bytes: 10e9).warning([]) == nil)
  }

  @Test func everySlowPartIsNamedInOneLine() throws {
    let work = [
      part("vision", (200_000_000_000, 0)), part("audio", (0, 1_000_000_000)),
      part("decode", (1, 100_000_000)),
    ]
    let slow = device(flops: 100e9, bytes: 1e9)
    let line = try #require(slow.warning(work))
    #expect(line.split(separator: "\n").count == 1)
    #expect(!line.contains("vision") && line.contains("audio 1.0 s a picture, 100 ms on the cpu"))
    #expect(line.contains("decode 100 ms a picture, 10 ms on the cpu"))
  }

  @Test func workIsWhatThePickedOperationsDoAndReadWhole() throws {
    let tracer = Tracer("program", over: MemoryWeights())
    let input = tracer.input("input", TensorType(.f32, [3, 8]))
    tracer.output("result", input + input)
    var graph = try tracer.finish()
    let weight = graph.append(
      source: .constant(.weight("weight")),
      type: TensorType(.f16, [16, 8]),
      name: "weight"
    )
    let product = try graph.append(.linear, [graph.outputs[0].node, weight], name: "product")
    graph.addOutput("product", product)
    let all = PartWork.Program(graph) { _ in true }
    #expect(all == PartWork.Program(flops: 3 * 8 + 2 * 3 * 8 * 16, weightByteCount: 16 * 8 * 2))
    let sums = PartWork.Program(graph) { $0.op.kind == "add" }
    #expect(sums == PartWork.Program(flops: 24, weightByteCount: 0))
  }

  @Test func ratesAreKeptByUnitAndMachine() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let unit = try CPUUnit(threads: 1)
    let rates = UnitRates(folder: folder.path, threads: 1)
    #expect(rates.known(unit) == nil)
    let rate = try #require(try rates.rates([unit]).first)
    #expect(rate.flopsPerSecond > 0 && rate.weightBytesPerSecond > 0)
    #expect(UnitRates(folder: folder.path, threads: 1).known(unit) == rate)
    #expect(try rates.rates([unit]) == [rate])
    #expect(UnitRates(folder: folder.path, threads: 2).known(unit) == nil)
    #expect(rates.known(NullUnit()) == nil)
  }

  @Test func nothingIsKeptWhereNoFolderCanBeMade() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("a file".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let unit = try CPUUnit(threads: 1)
    for folder in [file.path + "/folder", nil] {
      let rates = UnitRates(folder: folder, threads: 1)
      _ = try rates.rates([unit])
      #expect(rates.known(unit) == nil)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == "a file")
  }

  @Test func aPlacementOnAFarSlowerSoftwareDeviceIsSaidToBe() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    guard let gpu = try? GPUUnit(GPUOptions()), gpu.device.kind == .software else {
      print("did not run: no software Vulkan device")
      return
    }
    let path = folder.path
    let rates = UnitRates(folder: path, threads: 2)
    let slow = UnitRate(flopsPerSecond: 1e9, weightBytesPerSecond: 1e9)
    rates.keep(slow, gpu)
    rates.keep(UnitRate(flopsPerSecond: 6e9, weightBytesPerSecond: 6e9), try CPUUnit(threads: 2))
    func warnings(_ placement: String) throws -> [String] {
      var options = Troika.LoadOptions(placement: try Placement(parsing: placement), context: 640)
      options.threads = 2
      options.gpu.cacheFolder = path
      return try PlanReport(PlannedModel(ModelFolder(path: GoldenFolder.model)), options).warnings
    }
    let line = try #require(try warnings("mission").last)
    #expect(line.hasPrefix("gpu: ") && line.contains("is software, predicted: vision "))
    #expect(!line.contains("decode"))
    #expect(try warnings("gpu").last?.contains("decode") == true)
    #expect(try warnings("cpu").isEmpty)
    rates.keep(slow, try CPUUnit(threads: 2))
    #expect(try !warnings("mission").contains { $0.hasPrefix("gpu: ") })
  }
}
