/// A JSON document as a value.
///
/// Objects keep the order of their members.
public enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number written without fraction and exponent that fits 64 bits.
  case integer(Int)
  /// Any other finite number.
  case number(Double)
  /// A text.
  case string(String)
  /// Values in order.
  case array([JSONValue])
  /// Members in order.
  case object(JSONObject)

  /// What this value is, as error messages call it.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// The member `key` of an object, nil for every other value.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let object) = self else { return nil }
    return object[key]
  }

  /// The text, nil for every other value.
  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The whole number, nil for every other value.
  public var integer: Int? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// The number, whole or not, nil for every other value.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The truth value, nil for every other value.
  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The elements, nil for every other value.
  public var array: [JSONValue]? {
    guard case .array(let values) = self else { return nil }
    return values
  }

  /// The members, nil for every other value.
  public var object: JSONObject? {
    guard case .object(let object) = self else { return nil }
    return object
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// A truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object with members in the order written.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    var object = JSONObject()
    for (key, value) in elements { object[key] = value }
    self = .object(object)
  }
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
}

extension JSONValue {
  /// An object with members in the order given.
  public static func object(fields: [(String, JSONValue)]) -> JSONValue {
    var object = JSONObject()
    for (key, value) in fields { object[key] = value }
    return .object(object)
  }
}
