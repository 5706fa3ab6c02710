public import Graph
public import Models

/// A placement with what else of a plan its file says.
///
/// A JSON object: parts or globs with a unit's name, and the options `about` (words for people),
/// `base` (the unit of everything else), `cuts`, `prefill`, `batches`, `sharedLayers`, `fallback` and
/// `engine`.
public struct PlacementFile: Hashable, Sendable {
  /// Where each part runs.
  public let placement: Placement
  /// Exclusive ends of the decoder's programs; nil for the usual ones.
  public private(set) var cuts: [Int]?
  /// Token counts of prefill programs; nil for the usual ones.
  public private(set) var prefill: [Int]?
  /// How a prompt is dealt out to programs of fixed token counts; nil for the usual.
  public private(set) var batches: BatchChoice?
  /// For which positions the sharing layers run; nil for the usual.
  public private(set) var sharedLayers: TextDecoder.SharedLayers?
  /// Whether a program that its unit refuses may run on the CPU; nil for the usual.
  public private(set) var allowsFallback: Bool?
  /// Switches of the neural engine.
  public private(set) var engine = EngineOptions()
  /// The file, as error messages name it; empty where there is none.
  public let subject: String

  /// A placement without options.
  public init(_ placement: Placement) {
    self.placement = placement
    subject = ""
  }

  /// Reads a file.
  ///
  /// - Throws: `FileError` or `JSONError` naming the file and the key.
  public init(path: String) throws { try self.init(JSONNode(file: path)) }

  /// Reads a document.
  ///
  /// - Throws: `JSONError` naming the file and the key.
  public init(_ document: JSONNode) throws(JSONError) {
    subject = document.subject
    var base = UnitID.cpu
    var rules: [Placement.Rule] = []
    for key in try document.object().keys {
      let node = try document.member(key)
      switch key {
      case "about": _ = try node.string()
      case "base": base = try node.unit()
      case "cuts": cuts = try node.counts()
      case "prefill" where node.value.string == nil:
        prefill = node.value.array == nil ? [try node.count()] : try node.counts()
      case "batches": batches = try node.choice()
      case "sharedLayers": sharedLayers = try node.choice()
      case "fallback": allowsFallback = try node.bool()
      case "engine": engine = try node.engine()
      default: rules.append(try node.rule(key))
      }
    }
    placement = Placement(base: base, rules: rules)
  }

  /// The keys that are no parts.
  public static let options = [
    "about", "base", "cuts", "prefill", "batches", "sharedLayers", "fallback", "engine",
  ]

  /// The layout of the cuts; nil for the usual one.
  ///
  /// - Throws: `JSONError` where the cuts do not fit the model.
  public func layout(layerCount: Int) throws(JSONError) -> ChunkLayout? {
    guard let cuts else { return nil }
    if let layout = ChunkLayout(ends: cuts, layerCount: layerCount) { return layout }
    throw .field(
      subject: subject,
      path: "cuts",
      expected: "rising ends of which the last is \(layerCount)",
      came: "\(cuts)"
    )
  }
}

extension PlacementFile {
  /// An error about the placement and a model, naming the file and the key where there is a file.
  public func located(_ error: any Error) -> any Error {
    guard !subject.isEmpty else { return error }
    switch error {
    case PlacementError.noSuchChunk(let key, let chunks):
      return JSONError.field(
        subject: subject,
        path: key,
        expected: "chunk1 to chunk\(chunks)",
        came: "this key"
      )
    case PlacementError.matchesNothing(let glob):
      return JSONError.field(
        subject: subject,
        path: glob,
        expected: "a glob that matches operations",
        came: "none of them"
      )
    default: return error
    }
  }
}

extension JSONNode {
  fileprivate func unit() throws(JSONError) -> UnitID {
    let name = try string()
    guard let unit = try? UnitID(known: name) else {
      let names = UnitID.all.map(\.name).joined(separator: " ")
      throw mismatch("one of \(names)", came: "'\(name)'")
    }
    return unit
  }

  fileprivate func rule(_ key: String) throws(JSONError) -> Placement.Rule {
    guard (try? Placement.Rule(parsing: key, UnitID.cpu.name)) != nil else {
      let options = PlacementFile.options.joined(separator: ", ")
      throw mismatch("a part, a glob or one of \(options)", came: "this key")
    }
    return Placement.Rule(key, try unit())
  }

  fileprivate func count() throws(JSONError) -> Int {
    let number = try integer()
    guard (1...1 << 20).contains(number) else {
      throw mismatch("a number from 1 to \(1 << 20)", came: "\(number)")
    }
    return number
  }

  fileprivate func counts() throws(JSONError) -> [Int] {
    var numbers: [Int] = []
    for element in try elements() { numbers.append(try element.count()) }
    let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    guard !numbers.isEmpty, isRising else { throw mismatch("rising numbers", came: "\(numbers)") }
    return numbers
  }

  fileprivate func choice<Choice: RawRepresentable & CaseIterable>() throws(JSONError) -> Choice
  where Choice.RawValue == String {
    let name = try string()
    guard let choice = Choice(rawValue: name) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: " or ")
      throw mismatch(names, came: "'\(name)'")
    }
    return choice
  }

  fileprivate func engine() throws(JSONError) -> EngineOptions {
    var options = EngineOptions()
    for key in try object().keys {
      let node = try member(key)
      do throws(EngineOptionError) {
        try options.set(key, node.word)
      } catch {
        switch error {
        case .value(_, let expected, let got): throw node.mismatch(expected, came: "'\(got)'")
        default:
          throw node.mismatch(
            "one of \(EngineOptions.keys.joined(separator: ", "))",
            came: "this key"
          )
        }
      }
    }
    return options
  }

  /// The value as the inline form spells it.
  private var word: String {
    switch value {
    case .string(let text): text
    case .bool(let isOn): isOn ? "on" : "off"
    case .integer(let number): "\(number)"
    default: value.kind
    }
  }
}
