import Testing

@testable import Models

@Suite struct JSONTests {
  @Test func readsEveryKindAndKeepsTheOrder() throws {
    let text = """
      {"z": null, "a": [true, false, 0, -7, 9223372036854775807, -9223372036854775808],
       "n": [1.5, -0.0, 1e3, 2E-2, 9223372036854775808],
       "s": "é\\u00e9\\ud83d\\ude42\\n\\/", "o": {}}
      """
    let value = try JSONValue(parsing: text)
    #expect(value.object?.keys == ["z", "a", "n", "s", "o"])
    #expect(value["a"] == [true, false, 0, -7, .integer(.max), .integer(.min)])
    #expect(value["n"] == [1.5, .number(-0.0), 1000.0, 0.02, .number(0x1p63)])
    #expect(value["s"]?.string == "éé🙂\n/")
    #expect(value["o"] == [:])
    #expect(value["missing"] == nil)
  }

  @Test(arguments: [
    ("", "JSON: expected a value at byte 0, came the end"),
    ("[1,]", "JSON: expected a value at byte 3, came ']'"),
    ("{\"a\":1,}", "JSON: expected a key at byte 7, came '}'"),
    ("{\"a\" 1}", "JSON: expected ':' at byte 5, came '1'"),
    ("[01]", "JSON: expected a number without leading zeros at byte 2, came '1'"),
    ("[1.]", "JSON: expected a digit at byte 3, came ']'"),
    ("[-]", "JSON: expected a digit at byte 2, came ']'"),
    ("1e999", "JSON: expected a finite number at byte 0, came 1e999"),
    ("nul", "JSON: expected 'null' at byte 0, came 'n'"),
    ("1 2", "JSON: expected end of text at byte 2, came '2'"),
    ("\"a", "JSON: expected '\"' at byte 2, came the end"),
    ("\"a\nb\"", "JSON: expected an escaped control character at byte 2, came byte 10"),
    ("\"\\x\"", "JSON: expected an escape at byte 2, came 'x'"),
    ("\"\\ud800\"", "JSON: expected the second half of a surrogate pair at byte 7, came '\"'"),
    ("\"\\ud800\\u0041\"", "JSON: expected a surrogate pair at byte 3, came an unpaired surrogate"),
    ("\"\\udc00\"", "JSON: expected a surrogate pair at byte 3, came an unpaired surrogate"),
    ("{\"a\":1,\"a\":2}", "JSON: expected distinct keys, came 'a' again at byte 7"),
    ("\u{FEFF}1", "JSON: expected a value at byte 0, came byte 239"),
  ])
  func refusesWithOneLine(text: String, line: String) {
    #expect(message { _ = try JSONValue(parsing: text) } == line)
  }

  @Test func refusesInvalidUTF8() {
    for bytes: [UInt8] in [
      [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xFF, 0x22],
    ] {
      #expect(
        message { _ = try JSONValue.parse(bytes, subject: "f") }
          == "f: expected valid UTF-8 at byte 1, came other bytes"
      )
    }
  }

  @Test func limitsDepth() throws {
    let deepest = JSONReader.depthLimit
    let fits = String(repeating: "[", count: deepest) + String(repeating: "]", count: deepest)
    #expect(try JSONValue(parsing: fits).kind == "array")
    #expect(message { _ = try JSONValue(parsing: "[" + fits + "]") } != nil)
    #expect(message { _ = try JSONValue(parsing: String(repeating: "[", count: 1_000_000)) } != nil)
  }

  @Test func keysAreBytes() throws {
    let value = try JSONValue(parsing: "{\"\u{E9}\": 1, \"e\u{301}\": 2}")
    #expect(value["\u{E9}"] == 1)
    #expect(value["e\u{301}"] == 2)
  }

  @Test func objectsFindAmongManyAndChange() {
    var object = JSONObject()
    for index in 0..<1000 { object["k\(index)"] = .integer(index) }
    #expect((0..<1000).allSatisfy { object["k\($0)"] == .integer($0) })
    object["k500"] = nil
    object["k0"] = "new"
    #expect(object.count == 999)
    #expect(object["k500"] == nil)
    #expect(object["k999"] == 999)
    #expect(object.members[0].value == "new")
  }

  @Test func writesWhatItReads() throws {
    let value: JSONValue = [
      "b": [1, -2.5, 1e300, 1e-7, .null, true, [:], []],
      "a": "quote \" back \\ line \n bell \u{7} é🙂 \u{7F}",
    ]
    for layout in [JSONValue.Layout.compact, .indented] {
      #expect(try JSONValue(parsing: value.text(layout)) == value)
    }
    #expect(([1, ["k": "v"]] as JSONValue).text() == "[1,{\"k\":\"v\"}]")
    #expect(
      (["b": 1, "a": [2]] as JSONValue).text(.indented, sortingKeys: true)
        == "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}"
    )
    #expect(JSONValue.number(.infinity).text() == "null")
  }

  @Test func namesTheFieldThatIsWrong() throws {
    let node = JSONNode(
      try JSONValue(parsing: "{\"x\": {\"y\": \"no\", \"n\": null, \"l\": [1, true]}}"),
      subject: "config.json"
    )
    let x = try node.member("x")
    #expect(
      message { _ = try x.integer("y") }
        == "config.json: field 'x.y': expected integer, came string"
    )
    #expect(
      message { _ = try x.integer("z") }
        == "config.json: field 'x.z': expected a value, came nothing"
    )
    #expect(
      message { _ = try x.bool("n") } == "config.json: field 'x.n': expected a value, came null"
    )
    #expect(
      message { _ = try x.integers("l") }
        == "config.json: field 'x.l[1]': expected integer, came boolean"
    )
    #expect(try x.integer("n", or: 4) == 4)
    #expect(message { _ = try x.integer("y", or: 4) } != nil)
  }

  @Test func survivesMutations() throws {
    let seedText = """
      {"a": [1, -2.5e3, "x\\u00e9\\ud83d\\ude42\\n", null, true, {"b": {}}],
       "é": "ü🙂", "n": 12345678901234567890}
      """
    var numbers = FuzzNumbers(state: 7)
    var readable = 0
    for _ in 0..<TextFixtures.fuzzIterations {
      let bytes = numbers.mutate(Array(seedText.utf8))
      guard let value = try? JSONValue.parse(bytes, subject: "f") else { continue }
      readable += 1
      #expect(try JSONValue(parsing: value.text()) == value)
    }
    #expect(readable > 0)
  }
}
