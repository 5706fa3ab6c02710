import Graph
import Models
import TestSupport
import Testing

@testable import Troika

/// Requests on device profiles.
@Suite struct SimulationTests {
  private static func simulator(
    _ profile: DeviceProfile,
    context: Int = 2048,
    prefill: [Int]? = nil,
    chunks: [Int]? = nil
  ) throws -> DeviceSimulator {
    let planned = try PlannedModel(.e2b, .int4)
    return try DeviceSimulator(
      planned,
      Troika.LoadOptions(
        layout: chunks.flatMap { ChunkLayout(ends: $0, layerCount: 35) },
        context: context,
        prefillShapes: prefill
      ),
      on: profile,
      sharedLayers: nil,
      batches: nil
    )
  }

  private static func request(
    text: Int = 348,
    images: Int = 0,
    frames: Int = 0,
    seconds: Double = 0,
    tokens: Int = 16
  ) throws -> RequestShape {
    try RequestShape(
      PlannedModel(.e2b, .int4).model,
      textTokens: text,
      images: images,
      frames: frames,
      audioSeconds: seconds,
      maxTokens: tokens
    )
  }

  @Test func publishedRowsHold() throws {
    let path = GoldenFolder.root.path + "/Examples/calibration/published.json"
    let rows = try PublishedRow.read(path: path)
    let reader = try PublishedChecks()
    var counts: [PublishedRow.Use: Int] = [:]
    for row in rows {
      let profile = try KnownProfiles.profile(row.device)
      for check in try reader.checks(row) where row.use != .context {
        let error = check.error(check.predict(profile))
        #expect(abs(error) <= Fidelity.tolerance, "\(row.device): \(check.label): \(error)")
        counts[row.use, default: 0] += 1
      }
    }
    #expect(counts[.fit] == 38)
    #expect(counts[.replay] == 11)
  }

  @Test func theSimulatedRequestIsThePublishedOne() throws {
    let profile = try KnownProfiles.profile("iphone-17-pro")
    let placement = try Placement(parsing: "mission")
    let simulation = try Self.simulator(profile).simulate(try Self.request(), placement)
    #expect(simulation.batches == [[348, 512]])
    #expect(abs(simulation.firstToken.value / 560.1e6 - 1) < 0.05)
    #expect(abs(simulation.tokensPerSecond.value / 31.4 - 1) < 0.05)
    #expect(simulation.firstToken.low < simulation.firstToken.value)
    #expect(simulation.firstToken.value < simulation.firstToken.high)
    let names = Set(simulation.launches.map(\.program))
    for chunk in 1...4 {
      #expect(names.contains("chunk\(chunk).prefill512"))
      #expect(names.contains("chunk\(chunk).decode"))
    }
    #expect(simulation.generatedTokens == 16)
    #expect(simulation.peakByteCount > 1 << 30)
  }

  @Test func theSameRequestGivesTheSameTimeline() throws {
    let profile = try KnownProfiles.profile("iphone-17-pro")
    let placement = try Placement(parsing: "mission")
    let request = try Self.request(images: 2, frames: 3, seconds: 12)
    let first = try Self.simulator(profile).simulate(request, placement)
    #expect(try Self.simulator(profile).simulate(request, placement) == first)
    #expect(first.bound.nanoseconds <= Int(first.firstToken.value))
    #expect(Int(first.firstToken.value) < first.serialNanoseconds)
  }

  @Test func aChunkOnTheGPUMakesDecodeSlower() throws {
    let simulator = try Self.simulator(try KnownProfiles.profile("mac-studio"))
    let request = try Self.request()
    let all = try simulator.simulate(request, try Placement(parsing: "mission"))
    let moved = try simulator.simulate(
      request,
      try Placement(parsing: "chunks=neuralEngine,decode.chunk3=gpu")
    )
    #expect(moved.step.value > all.step.value * 1.2)
    // Each token waits for the one before: nothing of a step overlaps with another.
    #expect(
      moved.step.value >= moved.launches.filter { $0.program.hasSuffix(".decode") }
        .reduce(0) { $0 + $1.nanoseconds.value } * 0.999
    )
  }

  @Test func manySegmentsLoseToOneUnit() throws {
    // The audio tower has operations that the engine leaves to the processor.
    let simulator = try Self.simulator(try KnownProfiles.profile("iphone-17-pro"))
    let request = try Self.request(text: 20, seconds: 10)
    let result = try PlacementSearch(simulator, request, units: [.gpu, .neuralEngine], .ttft).run()
    #expect(result.best.placement.unit(of: .audio) == .gpu)
  }

  @Test func theSearchEqualsLookingAtAllPlacements() throws {
    let simulator = try Self.simulator(
      try KnownProfiles.profile("iphone-17-pro"),
      chunks: [15, 35]
    )
    let request = try Self.request(text: 60, images: 1, tokens: 4)
    let units: [UnitID] = [.cpu, .gpu, .neuralEngine]
    let result = try PlacementSearch(simulator, request, units: units, .ttft).run()
    var least = Int.max
    for vision in units {
      for first in units {
        for second in units {
          for head in units {
            let placement = Placement(rules: [
              .init("vision", vision), .init("prefill.chunk1", first),
              .init("prefill.chunk2", second), .init("prefill.head", head),
            ])
            least = min(least, try simulator.firstToken(request, placement))
          }
        }
      }
    }
    #expect(Int(result.best.firstToken.value) == least)
  }

  @Test func programsThatStayLoadedCostEachOtherWhereTheProfileSaysSo() throws {
    let phone = try KnownProfiles.profile("iphone-17-pro")
    #expect(phone.units[.neuralEngine]?[.residentProgramNanoseconds] == nil)
    func pressed(_ nanoseconds: Double) throws -> DeviceSimulator {
      var profile = phone
      profile.units[.neuralEngine]?.figures[.residentProgramNanoseconds] = Figure(
        nanoseconds,
        low: nanoseconds * 0.5,
        high: nanoseconds * 2,
        .assumed,
        source: "test"
      )
      return try Self.simulator(profile, chunks: [15, 35])
    }
    let request = try Self.request(tokens: 4)
    let placement = try Placement(parsing: "mission")
    let free = try Self.simulator(phone, chunks: [15, 35]).simulate(request, placement)
    #expect(try pressed(0).simulate(request, placement).step == free.step)
    // A step launches two programs, each beside one other; of the prompt's one may have two segments.
    let full = try pressed(1e6).simulate(request, placement)
    #expect(abs(full.step.value - free.step.value - 2e6) < 10)
    let launches = free.timeline.events.count {
      $0.unit == .neuralEngine && Double($0.endNanoseconds) <= free.firstToken.value
    }
    let more = Double(launches) * 1e6
    #expect(launches >= 2 && abs(full.firstToken.value - free.firstToken.value - more) < 10)
    #expect(full.step.low < full.step.value && full.step.high > full.step.value + 1e6)
    let alone = try pressed(1e6).simulate(
      request,
      try Placement(parsing: "decode.chunk1=neuralEngine")
    )
    let same = try Self.simulator(phone, chunks: [15, 35])
      .simulate(request, try Placement(parsing: "decode.chunk1=neuralEngine"))
    #expect(alone.step == same.step)
    // What is searched apart stays so: the search finds what looking at all placements finds.
    let units: [UnitID] = [.gpu, .neuralEngine]
    let simulator = try pressed(30e6)
    let found = try PlacementSearch(simulator, request, units: units, .decode).run().best
    var least = Double.infinity
    for first in units {
      for second in units {
        for head in units {
          let placement = Placement(rules: [
            .init("decode.chunk1", first), .init("decode.chunk2", second),
            .init("decode.head", head),
          ])
          least = min(least, try simulator.stepNanoseconds(request, placement))
        }
      }
    }
    #expect(try simulator.stepNanoseconds(request, found.placement) == least)
  }

  @Test func whatIsAssumedIsSaid() throws {
    let phone = try KnownProfiles.profile("iphone-17-pro")
    let request = try Self.request(tokens: 4)
    let mission = try Self.simulator(phone).simulate(request, try Placement(parsing: "mission"))
    #expect(mission.assumptions.contains { $0.assumesWatts })
    #expect(!mission.assumptions.contains { $0.unit == .gpu })
    let own = try Self.simulator(phone).simulate(request, try Placement(parsing: "cpu"))
    let first = try #require(own.assumptions.first)
    #expect(first.unit == .cpu && !first.figures.isEmpty && first.share > 0.5)
    var known = phone
    for unit in known.units.keys {
      for name in UnitFigure.allCases { known.units[unit]?.figures[name]?.provenance = .published }
      for index in known.units[unit]?.products.indices ?? 0..<0 {
        known.units[unit]?.products[index].flopsPerSecond.provenance = .published
      }
    }
    for name in HostFigure.allCases { known.host[name]?.provenance = .published }
    let sure = try Self.simulator(known).simulate(request, try Placement(parsing: "cpu"))
    #expect(sure.assumptions.isEmpty && sure.firstToken == own.firstToken)
  }

  @Test func unitsThatADeviceLacksAreNotAvailable() throws {
    let simulator = try Self.simulator(try KnownProfiles.profile("iphone-17-pro"))
    #expect(throws: (any Error).self) {
      try simulator.simulate(try Self.request(), try Placement(parsing: "reference"))
    }
  }

  @Test func promptsThatDoNotFitAreRefused() throws {
    let simulator = try Self.simulator(try KnownProfiles.profile("iphone-17-pro"), context: 512)
    #expect(throws: TroikaError.self) {
      try simulator.simulate(try Self.request(text: 600), try Placement(parsing: "mission"))
    }
  }

  @Test func profilesSurviveTheirFile() throws {
    for name in KnownProfiles.names {
      let profile = try KnownProfiles.profile(name)
      let text = ProfileFile.document(profile).text(.indented, sortingKeys: false)
      let value = try Array(text.utf8).withUnsafeBytes {
        try JSONValue(parsing: $0, subject: "profile")
      }
      #expect(try ProfileFile.read(JSONNode(value, subject: "profile")) == profile)
      for unit in profile.units.values {
        for figure in unit.figures.values {
          #expect(!figure.source.isEmpty)
          #expect(figure.low <= figure.value && figure.value <= figure.high)
        }
      }
    }
  }
}
