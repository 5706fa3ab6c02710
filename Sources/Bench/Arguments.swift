/// The words after a subcommand: options with values, switches, and what is left.
struct Arguments {
  /// Options in the order given.
  private(set) var options: [(name: String, value: String)] = []
  /// Switches that were given.
  private(set) var switches: Set<String> = []
  /// Words that belong to no option.
  private(set) var words: [String] = []

  /// Reads words.
  ///
  /// - Parameters:
  ///   - words: the words after the subcommand.
  ///   - valued: names of options that take a value, without dashes.
  ///   - repeated: those of them that may be given more than once.
  ///   - known: names of switches, without dashes.
  /// - Throws: `UsageError` naming the word that does not fit.
  init(
    _ words: [String],
    valued: Set<String>,
    repeated: Set<String> = [],
    switches known: Set<String> = []
  ) throws {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        self.words += rest
        break
      }
      guard word.hasPrefix("--") else {
        guard !word.hasPrefix("-") || word == "-" || Double(word) != nil else {
          throw UsageError("\(word): not an option of this command; see --help")
        }
        self.words.append(word)
        continue
      }
      var name = String(word.dropFirst(2))
      var value: String?
      if let equals = name.firstIndex(of: "=") {
        value = String(name[name.index(after: equals)...])
        name = String(name[..<equals])
      }
      if known.contains(name), value == nil {
        switches.insert(name)
      } else if valued.contains(name) {
        guard let value = value ?? rest.popFirst() else {
          throw UsageError("--\(name): expected a value, got nothing")
        }
        guard repeated.contains(name) || !options.contains(where: { $0.name == name }) else {
          throw UsageError("--\(name): expected once, got it again")
        }
        options.append((name, value))
      } else {
        throw UsageError("--\(name): not an option of this command; see --help")
      }
    }
  }

  /// The value of an option, or nil.
  subscript(_ name: String) -> String? { options.last { $0.name == name }?.value }

  /// Whether a switch was given.
  func has(_ name: String) -> Bool { switches.contains(name) }

  /// The value of an option that has to be there.
  func required(_ name: String) throws -> String {
    guard let value = self[name] else { throw UsageError("--\(name): expected it, got nothing") }
    return value
  }

  /// A whole number in a range.
  func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = self[name] else { return nil }
    guard let value = Int(text), range.contains(value) else {
      throw UsageError(
        "--\(name): expected a whole number from \(range.lowerBound) to \(range.upperBound), "
          + "got '\(text)'"
      )
    }
    return value
  }

  /// A number in a range.
  func number(_ name: String, in range: ClosedRange<Double>) throws -> Double? {
    guard let text = self[name] else { return nil }
    guard let value = Double(text), range.contains(value) else {
      throw UsageError(
        "--\(name): expected a number from \(range.lowerBound) to \(range.upperBound), "
          + "got '\(text)'"
      )
    }
    return value
  }

  /// A word that names a case.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String,
    _: Choice.Type
  ) throws -> Choice? where Choice.RawValue == String {
    guard let text = self[name] else { return nil }
    guard let value = Choice(rawValue: text) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("--\(name): expected one of \(names), got '\(text)'")
    }
    return value
  }
}
