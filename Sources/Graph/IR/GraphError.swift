/// Why a graph cannot be built.
public enum GraphError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A node names an operand that does not precede it.
  case unknownOperand(node: String, operand: Int)
  /// Operands do not fit the operation.
  case operands(node: String, reason: String)
  /// A node's recorded type is not what its operands give.
  case resultType(node: String, expected: TensorType, got: TensorType)
  /// Two inputs or two outputs have one name.
  case duplicateName(String)
  /// A state output has no input of its name and type.
  case stateWithoutInput(String)
  /// A constant is not in the weight source.
  case missingWeight(String)
  /// A constant has another shape than the model's configuration asks for.
  case weightShape(name: String, expected: Shape, got: Shape)

  /// One line naming the subject, what was expected and what came.
  public var description: String {
    switch self {
    case .unknownOperand(let node, let operand):
      "\(node): operand %\(operand) does not precede it"
    case .operands(let node, let reason): "\(node): \(reason)"
    case .resultType(let node, let expected, let got):
      "\(node): expected type \(expected), got \(got)"
    case .duplicateName(let name): "\(name): the name is used twice"
    case .stateWithoutInput(let name): "\(name): a state output needs an input of its name and type"
    case .missingWeight(let name): "\(name): expected this tensor, the model has none of this name"
    case .weightShape(let name, let expected, let got):
      "\(name): expected shape \(expected), got \(got)"
    }
  }
}

/// Why operands do not fit an operation.
public struct OperandError: Error, Hashable, Sendable {
  /// What was expected and what came.
  public let reason: String

  /// An error with its reason.
  public init(_ reason: String) { self.reason = reason }
}
