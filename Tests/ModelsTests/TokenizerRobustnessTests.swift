import Foundation
import Testing

@testable import Models

@Suite struct TokenizerRobustnessTests {
  private static let small = """
    {"added_tokens":[{"id":4,"content":"<s>","special":true,"normalized":false}],
    "normalizer":{"type":"Replace","pattern":{"String":" "},"content":"_"},
    "pre_tokenizer":{"type":"Split","pattern":{"String":" "},
    "behavior":"MergedWithPrevious","invert":false},
    "decoder":{"type":"Sequence","decoders":[
    {"type":"Replace","pattern":{"String":"_"},"content":" "},
    {"type":"ByteFallback"},{"type":"Fuse"}]},
    "model":{"type":"BPE","unk_token":"<u>","fuse_unk":true,"byte_fallback":true,
    "vocab":{"<u>":0,"a":1,"b":2,"ab":3},"merges":[["a","b"]]}}
    """

  private func line(_ replacing: String, _ with: String) -> String? {
    #expect(Self.small.contains(replacing))
    let text = Self.small.replacingOccurrences(of: replacing, with: with)
    return message {
      _ = try Tokenizer(JSONNode(try JSONValue(parsing: text), subject: "tokenizer.json"))
    }
  }

  @Test func readsTheUnbrokenOne() throws {
    #expect(line("BPE", "BPE") == nil)
    let tokenizer = try Tokenizer(
      JSONNode(try JSONValue(parsing: Self.small), subject: "tokenizer.json")
    )
    #expect(tokenizer.encode("ab<s>aabzz") == [3, 4, 1, 3, 0])
  }

  @Test(arguments: [
    ("\"BPE\"", "\"Unigram\"", "field 'model.type': expected 'BPE', came 'Unigram'"),
    ("\"fuse_unk\"", "\"dropout\":0.1,\"f\"", "field 'model.dropout': expected none, came 0.1"),
    (
      "\"fuse_unk\"", "\"end_of_word_suffix\":\"@\",\"f\"",
      "field 'model.end_of_word_suffix': expected none, came '@'"
    ),
    ("\"<u>\",", "\"<v>\",", "expected unk_token '<v>' in the vocabulary, came nothing"),
    ("\"b\":2", "\"b\":1", "field 'model.vocab.b': expected an id of its own, came 1"),
    ("\"b\":2", "\"b\":-2", "field 'model.vocab.b': expected an id of its own, came -2"),
    ("\"b\":2", "\"b\":99999999999", "field 'model.vocab.b': expected an id of its own"),
    ("\"b\":2", "\"b\":\"2\"", "field 'model.vocab.b': expected an id of its own, came \"2\""),
    ("[\"a\",\"b\"]", "[\"a\"]", "field 'model.merges[0]': expected a pair of strings"),
    ("[\"a\",\"b\"]", "\"a b c\"", "field 'model.merges[0]': expected a pair of strings"),
    ("[\"a\",\"b\"]", "\"a c\"", "field 'model.merges[0]': expected two tokens and their result"),
    ("\"id\":4", "\"id\":3", "expected id 3 for added token '<s>' alone, came another token"),
    (
      "\"content\":\"<s>\"", "\"content\":\"ab\"",
      "expected id 4 for added token 'ab' alone, came id 3"
    ),
    (
      "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"_\"}",
      "{\"type\":\"NFC\"}",
      "field 'normalizer': expected Replace, Prepend or Sequence, came 'NFC'"
    ),
    ("{\"String\":\" \"}", "{\"Regex\":\"x\"}", "field 'normalizer.pattern': expected a String"),
    (
      "\"Split\"", "\"ByteLevel\"",
      "field 'pre_tokenizer': expected Split or Sequence, came 'ByteLevel'"
    ),
    ("\"invert\":false", "\"invert\":true", "expected Split that is not inverted"),
    ("MergedWithPrevious", "Contiguous", "expected behavior Removed, Isolated"),
    ("\"Fuse\"", "\"Metaspace\"", "field 'decoder.decoders[2]': expected Replace, ByteFallback"),
    ("\"decoder\"", "\"decoders\"", "field 'decoder': expected a decoder, came none"),
    ("\"vocab\"", "\"voc\"", "field 'model.vocab': expected a value, came nothing"),
  ])
  func refuses(old: String, new: String, expected: String) {
    let got = line(old, new) ?? "no error"
    #expect(got.hasPrefix("tokenizer.json: ") && got.contains(expected), "\(got)")
    #expect(!got.contains("\n"))
  }

  @Test func survivesMutations() throws {
    var numbers = FuzzNumbers(state: 5)
    let bytes = Array(Self.small.utf8)
    var usable = 0
    for _ in 0..<TextFixtures.fuzzIterations {
      guard let value = try? JSONValue.parse(numbers.mutate(bytes), subject: "f"),
        let tokenizer = try? Tokenizer(JSONNode(value, subject: "f"))
      else { continue }
      usable += 1
      let ids = tokenizer.encode("ab <s> aé<u>_b")
      #expect(ids.allSatisfy { (0..<tokenizer.count).contains($0) })
      #expect(throws: Never.self) { try tokenizer.decode(ids) }
    }
    #expect(usable > 0)
  }
}
