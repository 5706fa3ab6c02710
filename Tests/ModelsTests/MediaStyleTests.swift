import Testing

@testable import Models

@Suite struct MediaStyleTests {
  private static func around(_ output: String) -> String {
    """
    {#- it's a comment with {{ '<|image|>' }} inside -#}
    {%- for item in message['content'] -%}
        {%- if item['type'] == 'text' -%}
            {{- item['text'] | trim -}}
        {%- elif item['type'] == 'image' -%}
            \(output)
        {%- elif item['type'] == 'audio' -%}
            {{- '<|audio|>' -}}
        {%- endif -%}
    {%- endfor -%}
    """
  }

  @Test(arguments: [
    (#"{{- '\n\n<|image|>\n\n' -}}"#, MediaStyle.spaced),
    (#"{{ "\n\n<|image|>\n\n" }}"#, .spaced),
    (#"{{- '\n\n' + '<|image|>' + '\n\n' -}}"#, .spaced),
    (#"{{- '\n\n' ~ "<|image|>" ~ '\n\n' -}}"#, .spaced),
    (#"{{- '\n\n' -}}{{- '<|image|>' -}}{# x #}{{- '\n\n' -}}"#, .spaced),
    (#"{{- '<|image|>' -}}"#, .bare),
    (#"{{ '<|image|>' }}"#, .bare),
    ("<|image|>", .bare),
    (#"{{- '<|image|>\n' -}}"#, .plain),
  ])
  func recognisesLiteralOutput(output: String, style: MediaStyle) {
    let found = MediaStyleDetection(template: Self.around(output))
    #expect(found.style == style)
    #expect(found.warning == nil)
  }

  @Test(arguments: [
    #"{{- '\n<|image|>\n' -}}"#, #"{{- prefix + '<|image|>' -}}"#, #"{{- '<|picture|>' -}}"#,
    #"{{- '<|image|>' -}}{%- elif x -%}{{- '<|image|>\n' -}}"#, "{{ '<|image|>", "",
  ])
  func warnsAboutOthers(output: String) {
    let found = MediaStyleDetection(template: Self.around(output), subject: "t.jinja")
    #expect(found.style == .plain)
    #expect(found.warning?.hasPrefix("t.jinja: expected ") == true)
  }

  @Test(arguments: [
    ("{%- set style = media_style | default('spaced') -%}", MediaStyle.spaced),
    ("{%- set style = media_style|default(\"bare\", true) -%}", .bare),
    ("{# media_style: a comment #}{% set s = media_style | default( 'plain' ) %}", .plain),
  ])
  func readsTheDefaultOfTheVariable(template: String, style: MediaStyle) {
    let found = MediaStyleDetection(template: template + Self.around("{{- style -}}"))
    #expect(found.style == style)
    #expect(found.warning == nil)
  }

  @Test func readsFolders() throws {
    let golden = MediaStyleDetection(folder: TextFixtures.tinyGemma4)
    #expect(golden.style == .plain && golden.warning == nil)
    let inConfig = #"{"chat_template":"{{ '\\n\\n<|image|>\\n\\n' }}"}"#
    let listed = #"{"chat_template":[{"name":"default","template":"{{ '<|image|>' }}"}]}"#
    for (name, text, style) in [
      ("tokenizer_config.json", inConfig, MediaStyle.spaced),
      ("tokenizer_config.json", listed, .bare), ("chat_template.json", inConfig, .spaced),
    ] {
      try TextFixtures.withFolder([name: Array(text.utf8)]) { folder in
        let found = MediaStyleDetection(folder: folder)
        #expect(found.style == style && found.warning == nil)
      }
    }
    try TextFixtures.withFolder { folder in
      let found = MediaStyleDetection(folder: folder)
      #expect(found.style == .plain && found.warning?.hasSuffix("media style 'plain'") == true)
    }
  }

  @Test func survivesMutations() {
    let template = Array(Self.around(#"{{- '\n\n<|image|>\n\n' -}}"#).utf8)
    var numbers = FuzzNumbers(state: 13)
    for _ in 0..<TextFixtures.fuzzIterations / 4 {
      let text = String(decoding: numbers.mutate(template), as: UTF8.self)
      let found = MediaStyleDetection(template: text)
      #expect(found.warning == nil || found.style == .plain)
    }
  }
}
