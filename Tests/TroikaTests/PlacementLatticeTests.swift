import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices
@testable import Troika

/// Every placement of seven parts over four units holds the gates: single moves, pairs and random ones
/// always, all 16,384 where `TROIKA_LATTICE=all` asks for them.
@Suite struct PlacementLatticeTests {
  private static func lattice() throws -> PlacementLattice {
    let vulkan = (try? GPUUnit(GPUOptions())) != nil
    if !vulkan { print("no Vulkan device: placements with gpu did not run") }
    return try PlacementLattice(
      units: [.reference, .cpu, .neuralEngine] + (vulkan ? [.gpu] : [])
    )
  }

  private func hold(_ lattice: PlacementLattice, _ choices: [[UnitID]]) throws {
    for choice in choices {
      let outcome = try lattice.outcome(choice)
      let name = zip(PlacementLattice.parts, choice).map { "\($0)=\($1)" }.joined(separator: ",")
      if let failure = outcome.failure { Issue.record("\(name): \(failure)") }
      #expect(outcome.logits.count == 5)
    }
  }

  @Test func singleMovesAndPairsHold() throws {
    let lattice = try Self.lattice()
    let base = [UnitID](repeating: .cpu, count: PlacementLattice.parts.count)
    var choices: Set<[UnitID]> = [base]
    for first in base.indices {
      for second in base.indices where second >= first {
        for left in lattice.units {
          for right in lattice.units {
            var choice = base
            choice[first] = left
            choice[second] = right
            choices.insert(choice)
          }
        }
      }
    }
    try hold(lattice, choices.sorted { "\($0)" < "\($1)" })
    #expect(choices.count == (lattice.units.count == 4 ? 211 : 99))
  }

  @Test func randomPlacementsHold() throws {
    let seed = UInt64.random(in: 0...9999)
    print("random placements of seed \(seed)")
    let lattice = try Self.lattice()
    var random = RandomNumbers(seed: seed)
    let choices = (0..<200).map { _ in
      PlacementLattice.parts.map { _ in
        lattice.units[Int.random(in: 0..<lattice.units.count, using: &random)]
      }
    }
    try hold(lattice, choices)
  }

  @Test func allPlacementsHold() throws {
    guard ProcessInfo.processInfo.environment["TROIKA_LATTICE"] == "all" else {
      print("all placements: did not run, Scripts/check --deep does")
      return
    }
    let lattice = try Self.lattice()
    let count = PlacementLattice.parts.count
    var choices: [[UnitID]] = [[]]
    for _ in 0..<count { choices = choices.flatMap { own in lattice.units.map { own + [$0] } } }
    try hold(lattice, choices)
    print("\(choices.count) placements hold")
  }
}
