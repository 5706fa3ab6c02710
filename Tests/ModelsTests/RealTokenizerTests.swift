import Foundation
import Testing

@testable import Models

/// Checks against a published vocabulary of 262144 entries; see `Scripts/test-real`.
@Suite struct RealTokenizerTests {
  @Test func equalsTheReferenceOnTheRealVocabulary() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let file = environment["TROIKA_GEMMA3_TOKENIZER"],
      let cases = environment["TROIKA_GEMMA3_CASES"]
    else {
      print("did not run: TROIKA_GEMMA3_TOKENIZER and TROIKA_GEMMA3_CASES are not set")
      return
    }
    let tokenizer = try Tokenizer(file: file)
    let lines = try String(contentsOfFile: cases, encoding: .utf8)
      .split(separator: "\n").map(String.init)
    #expect(lines.count > 200)
    for line in lines {
      let entry = JSONNode(try JSONValue(parsing: line), subject: "cases")
      let text = try entry.string("text")
      let ids = try entry.integers("ids")
      let plain = entry.value["ids_plain"] == nil ? ids : try entry.integers("ids_plain")
      let parsed = tokenizer.encode(text)
      let unparsed = tokenizer.encode(text, parseSpecial: false)
      #expect(
        parsed == ids || alternatives(entry, "alt_ids").contains(parsed),
        "\(text.debugDescription)"
      )
      #expect(
        unparsed == plain
          || alternatives(entry, "alt_ids_plain").contains(unparsed)
          || parsed == unparsed && alternatives(entry, "alt_ids").contains(unparsed),
        "\(text.debugDescription) plain"
      )
      let decoded = try entry.string("decoded", or: text)
      #expect(try tokenizer.decode(ids).hasSameBytes(as: decoded), "\(text.debugDescription)")
    }
  }

  private func alternatives(_ entry: JSONNode, _ key: String) -> [[Int]] {
    (entry.value[key]?.array ?? []).map { ($0.array ?? []).compactMap(\.integer) }
  }
}
