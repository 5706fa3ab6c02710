/// Why a checkpoint cannot be used.
public enum CheckpointError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The folder holds no safetensors file.
  case noWeights(folder: String)
  /// A file breaks the format.
  case malformed(file: String, expected: String, came: String)
  /// A tensor's header entry or values break the format or cannot be used.
  case tensor(file: String, name: String, expected: String, came: String)
  /// Two tensors have one name.
  case duplicate(name: String, file: String, other: String)
  /// No tensor has this name.
  case absent(name: String, file: String)

  /// One line that names the file.
  public var description: String {
    switch self {
    case .noWeights(let folder):
      "\(folder.printablePath): expected *.safetensors files, came none"
    case .malformed(let file, let expected, let came):
      "\(file.printablePath): expected \(expected), came \(came)"
    case .tensor(let file, let name, let expected, let came):
      "\(file.printablePath): tensor '\(name.printable)': expected \(expected), came \(came)"
    case .duplicate(let name, let file, let other):
      "\(file.printablePath): tensor '\(name.printable)': expected one, came another in "
        + other.printablePath
    case .absent(let name, let file):
      "\(file.printablePath): tensor '\(name.printable)': expected to be there, came nothing"
    }
  }
}
