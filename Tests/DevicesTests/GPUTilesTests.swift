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
    let tiles = GPUTiles(lanes: 8)
    func rows(_ counts: [Int], _ size: GPUTiles.Size, _ lanes: Int) -> [Int] {
      counts.map { tiles.rows(of: $0, in: size, lanes: lanes) }
    }
    #expect(rows([1, 3, 9, 17, 25], tiles.weighted, 8) == [1, 4, 16, 24, 32])
    #expect(rows([1, 17, 25], .init(rows: 16, columns: 8), 8) == [1, 16, 16])
    #expect(rows([1, 3, 9, 17, 25], tiles.weighted, 16) == [1, 4, 16, 32, 32])
    #expect([1, 17, 33].map { tiles.sharedRows(of: $0) } == [16, 32, 64])
  }

  @Test(arguments: GPUOptions.Family.allCases, GPUTiles.lanes)
  func everyMixOfCandidatesIsOffered(_ family: GPUOptions.Family, _ lanes: Int) {
    var mixed = GPUTiles(lanes: lanes)
    let choices = GPUTiles.choices(family, lanes: lanes, hasMatrices: true)
    for choice in choices {
      #expect(choice.candidates.count > 1 && choice.candidates[0] == GPUTiles(lanes: lanes))
      #expect(choice.candidates.allSatisfy { $0.isOffered(by: choices, lanes: lanes) })
      mixed = mixed.taking(choice.kernel, from: choice.candidates[choice.candidates.count - 1])
    }
    #expect(mixed.isOffered(by: choices, lanes: lanes))
    mixed.weighted = GPUTiles.Size(rows: 7, columns: 3)
    #expect(!mixed.isOffered(by: choices, lanes: lanes))
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
    for choice in unit.context.tileChoices {
      for tiles in choice.candidates.dropFirst() where !tiles.shared.usesMatrices {
        unit.context.tiles = tiles
        #expect(try Self.results(unit, test) == usual, "\(tiles)")
      }
    }
    #expect(unit.validationMessages.count == 0, "\(unit.validationMessages.last)")
  }

  @Test(.enabled(if: TestGPU.matrices != nil, "did not run: no cooperative matrices"))
  func cooperativeMatricesAreRight() throws {
    let unit = try #require(TestGPU.matrices)
    defer { unit.context.tiles.shared = GPUTiles.Shared(rows: 64, usesMatrices: true) }
    for rows in [32, 64] {
      unit.context.tiles.shared = GPUTiles.Shared(rows: rows, usesMatrices: true)
      let failures = try GPUSelfTest().failures(ofKind: "linear") { graph, weights in
        let executable = try unit.compile(Segment(unit: .gpu, graph: graph), over: weights)
        let shaders = (executable as? GPUExecutable)?.program.dispatches.map(\.pipeline.shader)
        if graph.nodes.last?.type.shape.rowCount ?? 0 > 16,
          shaders?.contains(.tiledHalf) == true
        {
          throw DeviceError.declined(
            unit: UnitNames.gpu,
            node: "linear",
            reason: "matrices are not used"
          )
        }
        return executable
      }
      #expect(failures.isEmpty)
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
    let lanes = tuned.context.lanes
    #expect(tuned.tiles.isOffered(by: tuned.context.tileChoices, lanes: lanes))
    let name = tuned.family.tilesName
    let kept = try JSONDecoder().decode(GPUTiles.self, from: context.folder.read(name))
    #expect(kept == tuned.tiles)
    #expect(!GPUUnit.isUntested(options))

    // Later units take what is kept, where it is on offer.
    options.testsItself = false
    let other = try #require(tuned.context.tileChoices.first).candidates[1]
    context.folder.write(name, try JSONEncoder().encode(other))
    #expect(try GPUUnit(options).tiles == other)
    var wrong = GPUTiles(lanes: lanes)
    wrong.weighted = GPUTiles.Size(rows: 7, columns: 3)
    context.folder.write(name, try JSONEncoder().encode(wrong))
    #expect(try GPUUnit(options).tiles == GPUTiles(lanes: lanes))
    options.tiles = other
    #expect(try GPUUnit(options).tiles == other)
  }
}
