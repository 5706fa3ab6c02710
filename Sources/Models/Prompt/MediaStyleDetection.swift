/// What a model folder's chat template says about newlines around media.
public struct MediaStyleDetection: Hashable, Sendable {
  /// The style to use.
  public let style: MediaStyle
  /// Why the style is only a guess, nil where the template was recognised.
  public let warning: String?

  /// Reads a folder's `chat_template.jinja`, `chat_template.json` or the template inside its
  /// `tokenizer_config.json`.
  ///
  /// Recognised are a default of a `media_style` variable and literal output around
  /// `<|image|>`. Everything else, an absent template too, counts as plain, with a warning.
  public init(folder: String) {
    guard let (name, template) = Self.template(in: folder) else {
      self.init(
        .plain,
        warning: "\(folder.printable): expected a chat template, came none; media style 'plain'"
      )
      return
    }
    self.init(template: template, subject: name)
  }

  /// Judges the text of a template.
  ///
  /// - Parameters:
  ///   - template: Jinja text.
  ///   - subject: the file's name, for the warning.
  public init(template: String, subject: String = "chat template") {
    if let style = Self.defaultOfVariable(in: template) ?? Self.literalStyle(in: template) {
      self.init(style, warning: nil)
    } else {
      self.init(
        .plain,
        warning:
          "\(subject): expected known newlines around <|image|>, came others; media style 'plain'"
      )
    }
  }

  private init(_ style: MediaStyle, warning: String?) {
    self.style = style
    self.warning = warning
  }

  private static func template(in folder: String) -> (String, String)? {
    let jinja = "chat_template.jinja"
    if let file = try? MappedFile(folder + "/" + jinja),
      let text = file.withBytes({ String(validating: $0, as: UTF8.self) })
    {
      return (jinja, text)
    }
    for name in ["chat_template.json", "tokenizer_config.json"] {
      guard let value = try? JSONValue(file: folder + "/" + name)["chat_template"] else { continue }
      if let text = value.string { return (name, text) }
      let named = value.array?.first { $0["name"]?.string == "default" } ?? value.array?.first
      if let text = named?["template"]?.string { return (name, text) }
    }
    return nil
  }

  /// The X of `media_style | default('X')`.
  private static func defaultOfVariable(in template: String) -> MediaStyle? {
    var rest = template.utf8[...]
    let name = Array("media_style".utf8)
    while let start = rest.firstIndex(of: name[0]) {
      rest = rest[start...]
      guard rest.starts(with: name) else {
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst(name.count)
      let compact = rest.prefix(60).filter { $0 != 0x20 }
      guard compact.starts(with: "|default(".utf8) else { continue }
      let argument = compact.dropFirst(9)
      guard let quote = argument.first, quote == 0x27 || quote == 0x22 else { continue }
      let word = argument.dropFirst().prefix { $0 != quote }
      return MediaStyle(rawValue: String(decoding: word, as: UTF8.self))
    }
    return nil
  }

  /// The style of output that holds `<|image|>` and nothing else but newlines.
  private static func literalStyle(in template: String) -> MediaStyle? {
    let image = MediaKind.image.placeholder
    var styles: Set<MediaStyle> = []
    for output in JinjaOutputs.runs(of: template) where output.text.contains(image) {
      let style = MediaStyle.allCases.first { $0.before + image + $0.after == output.text }
      guard output.isLiteral, let style else { return nil }
      styles.insert(style)
    }
    return styles.count == 1 ? styles.first : nil
  }
}

/// What a Jinja template prints between its statements, as far as it is literal.
enum JinjaOutputs {
  struct Run: Hashable {
    var text = ""
    var isLiteral = true
  }

  static func runs(of template: String) -> [Run] {
    var runs: [Run] = []
    var run = Run()
    var rest = Array(template.unicodeScalars)[...]
    var trimsNext = false
    while !rest.isEmpty {
      let plain = rest.prefixBeforeTag()
      rest = rest.dropFirst(plain.count)
      let kind = rest.dropFirst().first
      var text = plain
      if trimsNext { text = text.drop { $0.properties.isWhitespace } }
      if kind == "%" || kind == "#" { text = text.withoutIndent() }
      if rest.dropFirst(2).first == "-" {
        while text.last?.properties.isWhitespace == true { text = text.dropLast() }
      }
      run.text.unicodeScalars.append(contentsOf: text)
      guard let kind else { break }
      let tag = rest.tag(closing: kind == "{" ? "}" : kind)
      rest = rest.dropFirst(tag.count)
      trimsNext = tag.dropLast(2).last == "-"
      if kind == "{" {
        let value = literal(tag.dropFirst(2).dropLast(2))
        run.text += value.text
        run.isLiteral = run.isLiteral && value.isLiteral
      } else if kind == "%" {
        runs.append(run)
        run = Run()
      }
      if kind != "{", rest.first == "\n" { rest = rest.dropFirst() }
    }
    return runs + [run]
  }

  /// The value of literals joined by `+` or `~`; other expressions keep their literals' text.
  private static func literal(_ expression: ArraySlice<Unicode.Scalar>) -> Run {
    var run = Run()
    var quote: Unicode.Scalar?
    var rest = expression
    if rest.first == "-" || rest.first == "+" { rest = rest.dropFirst() }
    if rest.last == "-" { rest = rest.dropLast() }
    while let scalar = rest.popFirst() {
      if scalar == quote {
        quote = nil
      } else if quote != nil, scalar == "\\" {
        let escaped = rest.popFirst() ?? "\\"
        run.text.unicodeScalars.append(escaped == "n" ? "\n" : escaped)
      } else if quote != nil {
        run.text.unicodeScalars.append(scalar)
      } else if scalar == "'" || scalar == "\"" {
        quote = scalar
      } else if !(scalar == "+" || scalar == "~" || scalar.properties.isWhitespace) {
        run.isLiteral = false
      }
    }
    return run
  }
}

extension ArraySlice<Unicode.Scalar> {
  /// The scalars before the next `{{`, `{%` or `{#`.
  fileprivate func prefixBeforeTag() -> Self {
    var position = startIndex
    while position + 1 < endIndex {
      if self[position] == "{", ["{", "%", "#"].contains(self[position + 1]) {
        return self[..<position]
      }
      position += 1
    }
    return self
  }

  /// Without the white space between the last line's start and the end, as `lstrip_blocks` has it.
  fileprivate func withoutIndent() -> Self {
    guard let last = lastIndex(where: { $0 != " " && $0 != "\t" }) else {
      return self[..<startIndex]
    }
    return self[last] == "\n" ? self[...last] : self
  }

  /// A tag from its `{` to its `}`, quotes respected; all the rest where it is not closed.
  fileprivate func tag(closing: Unicode.Scalar) -> Self {
    var quote: Unicode.Scalar?
    var position = startIndex + 2
    while position + 1 < endIndex {
      let scalar = self[position]
      if scalar == quote {
        quote = nil
      } else if quote != nil, scalar == "\\" {
        position += 1
      } else if quote == nil, closing != "#", scalar == "'" || scalar == "\"" {
        quote = scalar
      } else if quote == nil, scalar == closing, self[position + 1] == "}" {
        return self[..<(position + 2)]
      }
      position += 1
    }
    return self
  }
}
