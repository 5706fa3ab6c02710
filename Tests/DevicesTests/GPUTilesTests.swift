import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// Sizes of product tiles: how they are chosen, and that nothing else depends on them.
@Suite struct GPUTileChoiceTests {
  @Test func theUsualSizeGivesWayOnlyToOneThatIsClearlyFaster() {
    #expect(GPUTiles.place(ofShortest: [100, 96, 99]) == 0)
    #expect(GPUTiles.place(ofShortest: [100, 95, 90]) == 2)
    #expect(GPUTiles.place(ofShortest: [100, 200]) == 0)
    #expect(GPUTiles.place(ofShortest: []) == 0)
  }

  @Test func fewRowsTakeTheSmallestTileThatHoldsThem() {
    let tiles = GPUTiles()
    #expect(
      [1, 3, 9, 17, 25].map { tiles.rows(of: $0, in: tiles.weighted) } == [1, 4, 16, 24, 32]
    )
    #expect(
      [1, 17, 25].map { tiles.rows(of: $0, in: .init(rows: 16, columns: 8)) } == [1, 16, 16]
    )
    #expect([1, 17, 33].map { tiles.sharedRows(of: $0) } == [16, 32, 64])
  }

  @Test(arguments: GPUOptions.Family.allCases)
  func everyMixOfCandidatesIsOffered(_ family: GPUOptions.Family) {
    var mixed = GPUTiles()
    for choice in GPUTiles.choices(family) {
      #expect(choice.candidates.count > 1 && choice.candidates[0] == GPUTiles())
      #expect(choice.candidates.allSatisfy { $0.isOffered(family) })
      mixed = mixed.taking(choice.kernel, from: choice.candidates[choice.candidates.count - 1])
    }
    #expect(mixed.isOffered(family))
    mixed.weighted = GPUTiles.Size(rows: 7, columns: 3)
    #expect(!mixed.isOffered(family))
  }
}

@Suite(.serialized, .enabled(if: TestGPU.isAvailable, "did not run: no Vulkan device"))
struct GPUTilesTests {
  private static func results(_ unit: GPUUnit, _ test: GPUSelfTest) throws -> [[UInt32]] {
    let wanted = [
      "linear over f16", "linear over int8Row", "linear with a bias", "matmul", "cachedAttention",
    ]
    return try test.problems.filter { problem in
      wanted.contains { problem.label.hasPrefix($0) } || problem.kind == "matmul"
    }
    .map { problem in
      let executable = try unit.compile(
        Segment(unit: .gpu, graph: problem.graph),
        over: test.weights
      )
      var values = problem.inputs
      for output in problem.graph.outputs {
        values[output.name] = try Value(problem.graph.nodes[output.node].type)
      }
      try unit.wait(for: try executable.launch(values, after: []))
      return values["result"]?.floats.map(\.bitPattern) ?? []
    }
  }

  @Test(arguments: GPUOptions.Family.allCases)
  func noBitDependsOnTheTile(_ family: GPUOptions.Family) throws {
    var options = TestGPU.options(imports: true)
    options.family = family
    guard let unit = try? GPUUnit(options) else {
      print("did not run: this device has no \(family)")
      return
    }
    let test = try GPUSelfTest()
    let usual = try Self.results(unit, test)
    #expect(usual.count > 8 && usual.allSatisfy { !$0.isEmpty })
    for choice in GPUTiles.choices(family) {
      for tiles in choice.candidates.dropFirst() {
        unit.context.tiles = tiles
        #expect(try Self.results(unit, test) == usual, "\(tiles)")
      }
    }
    #expect(unit.validationMessages.count == 0, "\(unit.validationMessages.last)")
  }

  @Test func whatTheTuningRunFindsIsKept() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = GPUOptions(cacheFolder: folder.path)
    let context = try GPUContext(options)
    let none = try JSONEncoder().encode([GPUSelfTest.Failure]())
    context.folder.write(context.selfTestName, none)
    #expect(GPUUnit.isUntested(options))
    let tuned = try GPUUnit(options)
    #expect(tuned.tiles.isOffered(tuned.family))
    let name = tuned.family.tilesName
    let kept = try JSONDecoder().decode(GPUTiles.self, from: context.folder.read(name))
    #expect(kept == tuned.tiles)
    #expect(!GPUUnit.isUntested(options))

    // Later units take what is kept, where it is on offer.
    options.testsItself = false
    let other = try #require(GPUTiles.choices(tuned.family).first).candidates[1]
    context.folder.write(name, try JSONEncoder().encode(other))
    #expect(try GPUUnit(options).tiles == other)
    var wrong = GPUTiles()
    wrong.weighted = GPUTiles.Size(rows: 7, columns: 3)
    context.folder.write(name, try JSONEncoder().encode(wrong))
    #expect(try GPUUnit(options).tiles == GPUTiles())
    options.tiles = other
    #expect(try GPUUnit(options).tiles == other)
  }
}
