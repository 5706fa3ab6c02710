import Foundation
import Graph
import Models
import TestSupport
import Testing

@testable import Troika

@Suite struct PlacementFileTests {
  private func read(_ text: String) throws -> PlacementFile {
    let value = try Array(text.utf8).withUnsafeBytes {
      try JSONValue(parsing: $0, subject: "p.json")
    }
    return try PlacementFile(JSONNode(value, subject: "p.json"))
  }

  @Test func everythingAFileSaysIsRead() throws {
    let file = try read(
      """
      {"about": "words", "base": "reference", "vision": "gpu", "decode.chunk2": "cpu",
       "text.layers.4.*": "neuralEngine", "cuts": [2, 4], "prefill": 64, "sharedLayers": "all",
       "fallback": false,
       "engine": {"accumulate": "f16", "flush": true, "program-bytes": 5, "layers": "none"}}
      """
    )
    #expect(file.placement.base == .reference)
    #expect(file.placement.unit(of: .vision) == .gpu)
    #expect(file.placement.unit(of: .chunk(2, .decode)) == .cpu)
    #expect(file.placement.unit(of: .chunk(2, .prefill)) == .reference)
    #expect(file.placement.globUnits == [.neuralEngine])
    #expect(file.cuts == [2, 4])
    #expect(file.prefill == [64])
    #expect(file.sharedLayers == .all)
    #expect(file.allowsFallback == false)
    #expect(
      file.engine.description == "accumulate=f16,flush=on,program-bytes=5,layers=none"
    )
    #expect(try file.layout(layerCount: 4)?.ranges == [0..<2, 2..<4])
  }

  @Test func prefillIsAPartWhereItNamesAUnit() throws {
    let file = try read("{\"prefill\": \"neuralEngine\", \"decode\": \"cpu\"}")
    #expect(file.prefill == nil)
    #expect(file.placement.unit(of: .chunk(1, .prefill)) == .neuralEngine)
    #expect(file.placement.unit(of: .chunk(1, .decode)) == .cpu)
    let error = #expect(throws: JSONError.self) { try read("{\"prefill\": \"many\"}") }
    #expect(error?.description.contains("field 'prefill'") == true)
  }

  /// A document, and what the one line about it names.
  static let mistakes: [(String, String)] = [
    ("[]", "top"), ("{\"ears\": \"cpu\"}", "ears"), ("{\"vision\": \"tpu\"}", "vision"),
    ("{\"vision\": 3}", "vision"), ("{\"vision\": null}", "vision"),
    ("{\"base\": \"mission\"}", "base"), ("{\"cuts\": []}", "cuts"),
    ("{\"cuts\": [4, 2]}", "cuts"), ("{\"cuts\": \"4\"}", "cuts"), ("{\"cuts\": [0]}", "cuts[0]"),
    ("{\"cuts\": [1, 1048577]}", "cuts[1]"), ("{\"prefill\": 1048577}", "prefill"),
    ("{\"prefill\": [64, 9223372036854775807]}", "prefill[1]"),
    ("{\"cuts\": [1.5]}", "cuts[0]"), ("{\"prefill\": 0}", "prefill"),
    ("{\"prefill\": [64, \"many\"]}", "prefill[1]"), ("{\"prefill\": true}", "prefill"),
    ("{\"sharedLayers\": \"some\"}", "sharedLayers"), ("{\"fallback\": \"no\"}", "fallback"),
    ("{\"engine\": []}", "engine"), ("{\"engine\": {\"speed\": 1}}", "engine.speed"),
    ("{\"engine\": {\"accumulate\": \"f64\"}}", "engine.accumulate"),
    ("{\"engine\": {\"layers\": -1}}", "engine.layers"), ("{\"about\": 1}", "about"),
  ]

  @Test(arguments: mistakes)
  func mistakesNameTheFileAndTheKey(_ text: String, _ key: String) {
    let error = #expect(throws: JSONError.self) { try read(text) }
    #expect(error?.description.hasPrefix("p.json: field '\(key)': expected ") == true, "\(text)")
  }

  @Test func cutsHaveToFitTheModel() throws {
    let file = try read("{\"cuts\": [8, 25, 35]}")
    let error = #expect(throws: JSONError.self) { try file.layout(layerCount: 10) }
    #expect(error?.description.contains("p.json: field 'cuts'") == true)
  }

  @Test func theExamplesAreRead() throws {
    let folder = GoldenFolder.root.appendingPathComponent("Examples/placements")
    func example(_ name: String) throws -> PlacementFile {
      try PlacementFile(path: folder.appendingPathComponent(name).path)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    for name in names { _ = try example(name) }
    #expect(names.count == 3)
    let mission = try Placement(parsing: "mission")
    #expect(Set(try example("mission.json").placement.rules) == Set(mission.rules))
    #expect(try example("three-chunks.json").layout(layerCount: 35)?.ranges.count == 3)
    let single = try example("one-layer.json")
    #expect(single.placement.rules.contains { $0.isGlob })
    #expect(single.engine.accumulation == .f16)
  }
}
