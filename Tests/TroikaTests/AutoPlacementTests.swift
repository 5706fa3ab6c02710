import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// What `auto` stands for: the fastest placement by this machine's profile, else the processor.
@Suite struct AutoPlacementTests {
  /// A profile whose engine takes so many times as long as its processor, every figure known within a
  /// share.
  private static func profile(
    engine factor: Double,
    within share: Double = 0.02
  ) throws -> DeviceProfile {
    let model = try ModelFolder(path: GoldenFolder.model).model
    var profile = DeviceProfile(name: "host", summary: HostCalibration.summary(threads: 1, model))
    profile.modelError = share
    func unit(_ factor: Double, isFixed: Bool) -> DeviceProfile.Unit {
      var unit = DeviceProfile.Unit()
      unit.hasFixedShapes = isFixed
      func set(_ name: UnitFigure, _ value: Double) {
        unit.figures[name] = Figure(
          value,
          low: value * (1 - share),
          high: value * (1 + share),
          .measured,
          source: "test"
        )
      }
      set(.launchNanoseconds, 20_000 * factor)
      set(.productFlopsPerSecond, 5e10 / factor)
      set(.weightBytesPerSecond, 1e10 / factor)
      set(.attentionFlopsPerSecond, 2e10 / factor)
      set(.valueBytesPerSecond, 1e10 / factor)
      set(.convolutionFlopsPerSecond, 2e10 / factor)
      return unit
    }
    profile.units = [.cpu: unit(1, isFixed: false), .neuralEngine: unit(factor, isFixed: true)]
    return profile
  }

  private static func chosen(
    _ text: String?,
    _ change: (inout Troika.LoadOptions) -> Void = { _ in }
  ) throws -> AutoPlacement {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("auto-\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
    var options = Troika.LoadOptions(context: 1024, threads: 1)
    change(&options)
    let planned = PlannedModel(try ModelFolder(path: GoldenFolder.model))
    return AutoPlacement(planned, options, profile: path)
  }

  private static func text(_ profile: DeviceProfile) -> String {
    ProfileFile.document(profile).text(.compact, sortingKeys: false)
  }

  @Test func aFasterUnitIsChosenAndTheReasonSaysSo() throws {
    let auto = try Self.chosen(Self.text(Self.profile(engine: 0.1)))
    #expect(auto.placement.unit(of: .chunk(1, .prefill)) == .neuralEngine)
    #expect(auto.reason.hasPrefix("predicted "))
    #expect(auto.reason.contains("on the cpu"))
    #expect(try Self.chosen(Self.text(Self.profile(engine: 0.1))) == auto)
  }

  @Test func aSlowerUnitIsNot() throws {
    let auto = try Self.chosen(Self.text(Self.profile(engine: 10)))
    #expect(auto.placement == Placement())
    #expect(auto.reason.hasPrefix("predicted fastest"))
  }

  @Test func whatCannotBeToldApartStaysOnTheProcessor() throws {
    let auto = try Self.chosen(Self.text(Self.profile(engine: 0.8, within: 0.4)))
    #expect(auto.placement == Placement())
    #expect(auto.reason.contains("not distinguishable"))
  }

  @Test func withoutAProfileOfThisMachineItIsTheProcessor() throws {
    var foreign = try Self.profile(engine: 0.1)
    foreign.summary = "another processor, 64 processors, 64 threads a unit"
    var lacking = try Self.profile(engine: 0.1)
    lacking.units[.cpu] = nil
    let cases: [(String?, String)] = [
      (nil, "not measured"), ("", "auto-"), ("{", "auto-"), ("[1, 2]", "auto-"),
      (#"{"profile": 1, "name": "host", "units": {"cpu": {"watts": -1}}}"#, "auto-"),
      (Self.text(foreign), "is of another processor"), (Self.text(lacking), "no other unit"),
    ]
    for (text, reason) in cases {
      let auto = try Self.chosen(text)
      #expect(auto.placement == Placement())
      #expect(auto.reason.contains(reason), "\(auto.reason)")
      #expect(!auto.reason.contains("\n"))
    }
  }

  @Test func aProfileOfOtherWeightsIsNotAskedAboutThese() throws {
    var profile = try Self.profile(engine: 0.1)
    let rate = Figure(1e9, .measured, source: "test")
    profile.units[.cpu]?.products = [.init(weights: .f16, rows: 1, flopsPerSecond: rate)]
    let auto = try Self.chosen(Self.text(profile))
    #expect(auto.placement == Placement())
    #expect(auto.reason.contains("not measured with weights of "), "\(auto.reason)")
  }

  @Test func otherThreadsAreAnotherMachine() throws {
    let auto = try Self.chosen(Self.text(Self.profile(engine: 0.1))) { $0.threads = 2 }
    #expect(auto.placement == Placement())
    #expect(auto.reason.contains("1 threads a unit"))
  }

  @Test func aUnitThatIsNotHereIsLeftOut() throws {
    var profile = try Self.profile(engine: 10)
    profile.units[.gpu] = try Self.profile(engine: 0.1).units[.neuralEngine]
    let auto = try Self.chosen(Self.text(profile)) { $0.gpu.device = "no such device" }
    #expect(auto.placement == Placement())
  }

  @Test(arguments: [2, 3, 16, 300])
  func shortContextsAreSearchedToo(_ context: Int) throws {
    let auto = try Self.chosen(Self.text(Self.profile(engine: 0.1))) { $0.context = context }
    #expect(auto.reason.hasPrefix("predicted "), "\(auto.reason)")
  }
}
