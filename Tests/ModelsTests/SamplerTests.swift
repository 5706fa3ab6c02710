import Foundation
import Testing

@testable import Models

@Suite struct SamplerTests {
  @Test func takesTheLargestAndTheLowestAmongEquals() throws {
    var sampler = try Sampler(SamplingOptions())
    #expect(try sampler.next([1, 5, 5, -.infinity]) == 1)
    var cold = try Sampler(SamplingOptions(temperature: 0, topK: 3))
    #expect(try cold.next([-3, -2, -2]) == 1)
  }

  @Test(arguments: [
    ([Float](), "logits: expected at least one, came none"),
    ([1, .nan, 2], "logits: expected a number for token 1, came nan"),
    ([1, .infinity], "logits: expected a number for token 1, came inf"),
    ([-.infinity, -.infinity], "logits: expected a number for token 0, came -inf"),
  ])
  func refusesLogits(logits: [Float], line: String) throws {
    var greedy = try Sampler(SamplingOptions())
    #expect(message { _ = try greedy.next(logits) } == line)
    var warm = try Sampler(SamplingOptions(temperature: 1, topK: 2, topP: 0.5))
    #expect(message { _ = try warm.next(logits) } == line)
  }

  @Test func refusesAbsurdOptions() {
    for temperature in [-1, .nan, .infinity, 1000] {
      #expect(
        message { _ = try Sampler(SamplingOptions(temperature: temperature)) }
          == "temperature: expected a number from 0 to 100, came \(temperature)"
      )
    }
    #expect(
      message { _ = try Sampler(SamplingOptions(topK: -1)) }
        == "top-k: expected a count of at least 0, came -1"
    )
    for topP in [0, -0.5, 1.5, .nan] {
      #expect(
        message { _ = try Sampler(SamplingOptions(topP: topP)) }
          == "top-p: expected a number above 0 and at most 1, came \(topP)"
      )
    }
  }

  private func counts(
    _ options: SamplingOptions,
    _ logits: [Float],
    draws: Int
  ) throws -> [Double] {
    var sampler = try Sampler(options)
    var counts = [Double](repeating: 0, count: logits.count)
    for _ in 0..<draws { counts[try sampler.next(logits)] += 1 }
    return counts.map { $0 / Double(draws) }
  }

  @Test func followsTheDistribution() throws {
    let logits: [Float] = [2, 1, 0, -1, -.infinity, 1.5]
    for temperature in [0.5, 1.0, 2.0] {
      let weights = logits.map { exp(Double($0) / temperature) }
      let total = weights.reduce(0, +)
      let found = try counts(
        SamplingOptions(temperature: temperature, seed: 42),
        logits,
        draws: 40_000
      )
      for (share, weight) in zip(found, weights) {
        #expect(abs(share - weight / total) < 0.01)
      }
      #expect(found[4] == 0)
    }
  }

  @Test func keepsOnlyCandidates() throws {
    let logits: [Float] = [0, 3, 2, 2, 1]
    let two = try counts(SamplingOptions(temperature: 1, topK: 2), logits, draws: 20_000)
    #expect(two[0] == 0 && two[3] == 0 && two[4] == 0)
    #expect(abs(two[1] - exp(1) / (exp(1) + 1)) < 0.015)
    let one = try counts(SamplingOptions(temperature: 1, topK: 1), logits, draws: 100)
    #expect(one[1] == 1)
    let half = try counts(SamplingOptions(temperature: 1, topP: 0.5), logits, draws: 2000)
    #expect(half[1] == 1)
    let more = try counts(SamplingOptions(temperature: 1, topP: 0.6), logits, draws: 2000)
    #expect(more[2] > 0 && more[3] == 0)
    let both = try counts(
      SamplingOptions(temperature: 1, topK: 3, topP: 0.999),
      logits,
      draws: 20_000
    )
    #expect(both[0] == 0 && both[3] > 0 && both[4] == 0)
  }

  @Test func findsCandidatesAmongMany() throws {
    var numbers = FuzzNumbers(state: 1)
    let logits = (0..<5000).map { _ in Float(numbers.next(below: 1000)) / 100 }
    let order = logits.indices.sorted { (-logits[$0], $0) < (-logits[$1], $1) }
    for topK in [1, 2, 50, 4999] {
      let kept = Set(order.prefix(topK))
      var sampler = try Sampler(SamplingOptions(temperature: 3, topK: topK, seed: 9))
      for _ in 0..<20 { #expect(try kept.contains(sampler.next(logits))) }
    }
    let weights = order.map { exp(Double(logits[$0])) }
    let total = weights.reduce(0, +)
    for topP in [0.01, 0.5, 0.95, 0.999] {
      var mass = 0.0
      let size =
        (weights.firstIndex { weight in
          mass += weight
          return mass >= topP * total
        } ?? 0) + 1
      let kept = Set(order.prefix(size))
      var sampler = try Sampler(SamplingOptions(temperature: 1, topP: topP, seed: 9))
      for _ in 0..<200 { #expect(try kept.contains(sampler.next(logits))) }
    }
  }

  @Test func repeatsWithTheSeed() throws {
    let logits = (0..<100).map { Float($0 % 7) }
    func run(_ seed: UInt64) throws -> [Int] {
      var sampler = try Sampler(SamplingOptions(temperature: 1, seed: seed))
      return try (0..<50).map { _ in try sampler.next(logits) }
    }
    #expect(try run(1) == run(1))
    #expect(try run(1) != run(2))
    let known = (0..<3).map { Sampler.uniform(seed: 0, draw: $0) }
    #expect(known[0] == Double(0xE220_A839_7B1D_CDAF as UInt64 >> 11) * 0x1p-53)
    #expect(known[1] == Double(0x6E78_9E6A_A1B9_65F4 as UInt64 >> 11) * 0x1p-53)
    #expect(known[2] == Double(0x06C4_5D18_8009_454F as UInt64 >> 11) * 0x1p-53)
  }

  @Test func readsGenerationConfigs() throws {
    let golden = try GenerationConfig(folder: TextFixtures.tinyGemma4)
    #expect(golden.stopIDs == [1, 50, 106])
    #expect(golden.padID == 0 && golden.beginID == 2)
    #expect(golden.doSample && golden.temperature == 1 && golden.topK == 64 && golden.topP == 0.95)
    func read(_ config: String, _ generation: String?) throws -> GenerationConfig {
      try GenerationConfig(
        config: JSONNode(try JSONValue(parsing: config), subject: "config.json"),
        generation: try generation.map {
          JSONNode(try JSONValue(parsing: $0), subject: "generation_config.json")
        }
      )
    }
    #expect(try read(#"{"text_config":{"eos_token_id":7}}"#, nil).stopIDs == [7])
    #expect(try read(#"{"eos_token_id":3}"#, #"{"eos_token_id":[5,3]}"#).stopIDs == [3, 5])
    #expect(try read("{}", nil).stopIDs.isEmpty)
    for (text, line) in [
      (#"{"temperature":-1}"#, "field 'temperature': expected a number from 0 to 100, came -1.0"),
      (#"{"top_k":-3}"#, "field 'top_k': expected a count of at least 0, came -3"),
      (#"{"top_p":0}"#, "field 'top_p': expected a number above 0 and at most 1, came 0.0"),
      (#"{"top_p":"x"}"#, "field 'top_p': expected number, came string"),
      (#"{"eos_token_id":[1,"x"]}"#, "field 'eos_token_id[1]': expected integer, came string"),
      (#"{"eos_token_id":-1}"#, "field 'eos_token_id': expected a token id, came -1"),
    ] {
      #expect(message { _ = try read("{}", text) } == "generation_config.json: " + line)
    }
  }
}
