import Foundation
import Testing

@testable import Models

@Suite struct TokenizerTests {
  @Test func equalsTheReferenceOnTheGoldenTexts() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    #expect(tokenizer.count == 2048)
    let cases = try TextFixtures.node("tokenizer_cases.json").elements()
    #expect(cases.count > 20)
    for entry in cases {
      let text = try entry.string("text")
      let ids = try entry.integers("ids")
      #expect(tokenizer.encode(text) == ids, "\(text)")
      #expect(try tokenizer.decode(ids) == entry.string("decoded"))
      #expect(
        try tokenizer.decode(ids, skipSpecial: true) == entry.string("decoded_without_special")
      )
    }
  }

  @Test func equalsTheReferenceWithOddSettings() throws {
    let file = TextFixtures.folder + "/tokenizer_variants.json"
    for variant in try JSONNode(file: file).elements() {
      let name = try variant.string("name")
      let tokenizer = try Tokenizer(try variant.member("tokenizer"))
      for entry in try variant.elements("encode") {
        let text = try entry.string("text")
        let ids = try entry.integers("ids")
        #expect(tokenizer.encode(text) == ids, "\(name): \(text.debugDescription)")
      }
      for entry in try variant.elements("decode") {
        let ids = try entry.integers("ids")
        let text = try entry.string("text")
        let short = try entry.string("without_special")
        #expect(try tokenizer.decode(ids).hasSameBytes(as: text), "\(name): \(ids)")
        #expect(
          try tokenizer.decode(ids, skipSpecial: true).hasSameBytes(as: short),
          "\(name): \(ids)"
        )
      }
    }
  }

  @Test func leavesSpecialTokensOfPlainTextAlone() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    let text = "<bos><|turn>user\nsee <|image|><turn|>"
    let ids = tokenizer.encode(text, parseSpecial: false)
    #expect(!ids.contains { tokenizer.isSpecial($0) })
    #expect(try tokenizer.decode(ids) == text)
    #expect(try tokenizer.decode(ids, skipSpecial: true) == text)
  }

  @Test func stretchesAreOneText() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    let whole = "<|turn>user\nThe river runs<turn|>\n"
    for cut in 0...whole.utf8.count {
      let index = whole.utf8.index(whole.startIndex, offsetBy: cut)
      let parts = [
        Tokenizer.Stretch(text: String(whole[..<index]), parsesSpecial: true),
        Tokenizer.Stretch(text: String(whole[index...]), parsesSpecial: true),
      ]
      let ids = tokenizer.encode(parts)
      let isInside = (1..<7).contains(cut) || (27..<33).contains(cut)
      if !isInside { #expect(ids == tokenizer.encode(whole), "cut at \(cut)") }
    }
    let mixed = [
      Tokenizer.Stretch(text: "<|turn>", parsesSpecial: true),
      Tokenizer.Stretch(text: "<|turn>", parsesSpecial: false),
    ]
    let ids = tokenizer.encode(mixed)
    #expect(ids.first == 105)
    #expect(!ids.dropFirst().contains(105))
  }

  @Test func streamsWhatDecodingGives() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    var numbers = FuzzNumbers(state: 3)
    for _ in 0..<200 {
      let ids = (0..<20).map { _ in
        numbers.next(below: 2) == 0 ? 122 + numbers.next(below: 256) : numbers.next(below: 2048)
      }
      var stream = StreamDecoder(tokenizer, skipSpecial: false)
      var text = ""
      for id in ids { text += try stream.push(id) }
      #expect(try (text + stream.flush()).hasSameBytes(as: tokenizer.decode(ids)))
    }
    var stream = StreamDecoder(tokenizer)
    let pieces = try tokenizer.encode("a🙂b").map { try stream.push($0) }
    #expect(pieces == ["a", "", "", "", "", "🙂b"] && stream.flush().isEmpty)
  }

  @Test func refusesIdsWithoutAToken() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    for id in [-1, 2048, .max, .min] {
      #expect(
        message { _ = try tokenizer.decode([2, id]) }
          == "token id \(id): expected an id of the vocabulary below 2048, came none"
      )
    }
    #expect(tokenizer.id(of: "<|turn>") == 105)
    #expect(tokenizer.token(of: 105) == "<|turn>")
    #expect(tokenizer.token(of: -1) == nil)
    #expect(tokenizer.id(of: "no such token") == nil)
  }

  @Test func encodesLongTexts() throws {
    let tokenizer = try Tokenizer(folder: TextFixtures.tinyGemma4)
    let paragraph = "The river runs past the old mill, 12 times <b> naïve 🙂\n"
    let text = String(repeating: paragraph, count: 200)
    let ids = tokenizer.encode(text)
    #expect(try tokenizer.decode(ids) == text)
    let same = tokenizer.encode(String(repeating: "a", count: 10_000))
    #expect(try tokenizer.decode(same).count == 10_000)
  }
}
