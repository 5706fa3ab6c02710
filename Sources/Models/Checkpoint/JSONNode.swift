/// A place in a JSON document that knows its file and path, for typed access with good errors.
public struct JSONNode: Sendable {
  /// What stands here.
  public let value: JSONValue
  /// The file's name, as error messages print it.
  public let subject: String
  /// The keys from the top, joined by dots; empty at the top.
  public let path: String

  /// A place in a document.
  public init(_ value: JSONValue, subject: String, path: String = "") {
    self.value = value
    self.subject = subject
    self.path = path
  }

  /// The top of a JSON file.
  ///
  /// - Throws: `FileError` or `JSONError`.
  public init(file: String) throws {
    let mapped = try MappedFile(file)
    let value = try mapped.withBytes { try JSONValue(parsing: $0, subject: mapped.name) }
    self.init(value, subject: mapped.name)
  }

  /// The place of a member; nil where it is absent or null.
  ///
  /// - Throws: where this is not an object.
  public func optional(_ key: String) throws(JSONError) -> JSONNode? {
    guard case .object(let object) = value else { throw mismatch("object") }
    guard let member = object[key], member != .null else { return nil }
    return JSONNode(member, subject: subject, path: joined(key))
  }

  /// The place of a member that has to be there.
  ///
  /// - Throws: where this is not an object, or the member is absent or null.
  public func member(_ key: String) throws(JSONError) -> JSONNode {
    guard let node = try optional(key) else {
      let came = value[key] == nil ? "nothing" : "null"
      throw .field(subject: subject, path: joined(key), expected: "a value", came: came)
    }
    return node
  }

  /// The error that says this place should have been something else.
  public func mismatch(_ expected: String, came: String? = nil) -> JSONError {
    .field(
      subject: subject,
      path: path.isEmpty ? "top" : path,
      expected: expected,
      came: came ?? value.kind
    )
  }

  private func joined(_ key: String) -> String { path.isEmpty ? key : path + "." + key }
}

extension JSONNode {
  /// This value as a whole number; `2.0` counts.
  public func integer() throws(JSONError) -> Int {
    if case .integer(let value) = value { return value }
    if case .number(let value) = value, let whole = Int(exactly: value) { return whole }
    throw mismatch("integer")
  }

  /// This value as a number.
  public func double() throws(JSONError) -> Double {
    guard let value = value.double else { throw mismatch("number") }
    return value
  }

  /// This value as a truth value.
  public func bool() throws(JSONError) -> Bool {
    guard let value = value.bool else { throw mismatch("boolean") }
    return value
  }

  /// This value as a text.
  public func string() throws(JSONError) -> String {
    guard let value = value.string else { throw mismatch("string") }
    return value
  }

  /// The places of the elements.
  public func elements() throws(JSONError) -> [JSONNode] {
    guard let values = value.array else { throw mismatch("array") }
    return values.enumerated().map { index, value in
      JSONNode(value, subject: subject, path: path + "[\(index)]")
    }
  }

  /// This value as an object.
  public func object() throws(JSONError) -> JSONObject {
    guard let object = value.object else { throw mismatch("object") }
    return object
  }

  /// A member as a whole number.
  public func integer(_ key: String) throws(JSONError) -> Int { try member(key).integer() }

  /// A member as a whole number, or `fallback` where it is absent or null.
  public func integer(_ key: String, or fallback: Int) throws(JSONError) -> Int {
    try optional(key)?.integer() ?? fallback
  }

  /// A member as a number.
  public func double(_ key: String) throws(JSONError) -> Double { try member(key).double() }

  /// A member as a number, or `fallback` where it is absent or null.
  public func double(_ key: String, or fallback: Double) throws(JSONError) -> Double {
    try optional(key)?.double() ?? fallback
  }

  /// A member as a truth value.
  public func bool(_ key: String) throws(JSONError) -> Bool { try member(key).bool() }

  /// A member as a truth value, or `fallback` where it is absent or null.
  public func bool(_ key: String, or fallback: Bool) throws(JSONError) -> Bool {
    try optional(key)?.bool() ?? fallback
  }

  /// A member as a text.
  public func string(_ key: String) throws(JSONError) -> String { try member(key).string() }

  /// A member as a text, or `fallback` where it is absent or null.
  public func string(_ key: String, or fallback: String) throws(JSONError) -> String {
    try optional(key)?.string() ?? fallback
  }

  /// The places of a member's elements.
  public func elements(_ key: String) throws(JSONError) -> [JSONNode] {
    try member(key).elements()
  }

  /// A member as whole numbers.
  public func integers(_ key: String) throws(JSONError) -> [Int] {
    var result: [Int] = []
    for element in try elements(key) { result.append(try element.integer()) }
    return result
  }

  /// A member as texts.
  public func strings(_ key: String) throws(JSONError) -> [String] {
    var result: [String] = []
    for element in try elements(key) { result.append(try element.string()) }
    return result
  }
}
