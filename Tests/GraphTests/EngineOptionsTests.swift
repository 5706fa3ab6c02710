import Graph
import Testing

@Suite struct EngineOptionsTests {
  @Test func theInlineFormIsReadAndWritten() throws {
    let text = "accumulate=f16,flush=on,program-bytes=none,layers=35"
    let options = try EngineOptions(parsing: text)
    #expect(options.accumulation == .f16)
    #expect(options.flushesSubnormals == true)
    #expect(options.programBytes == .unlimited)
    #expect(options.layers == .atMost(35))
    #expect(options.description == text)
    #expect(EngineOptions().description.isEmpty)
  }

  @Test(arguments: [
    "", "accumulate", "accumulate=f64", "flush=true", "layers=0", "layers=-1", "layers=many",
    "program-bytes=1.5", "speed=9", "layers=1,", "=f16",
  ])
  func mistakesAreNamed(_ text: String) {
    let error = #expect(throws: EngineOptionError.self) { try EngineOptions(parsing: text) }
    #expect(error?.description.hasPrefix("engine: ") == true)
  }

  @Test func whatIsSaidComesBeforeWhatWasSaidEarlier() throws {
    let file = try EngineOptions(parsing: "accumulate=f16,layers=35")
    let line = try EngineOptions(parsing: "accumulate=f32,flush=on")
    #expect(line.over(file).description == "accumulate=f32,flush=on,layers=35")
  }
}
