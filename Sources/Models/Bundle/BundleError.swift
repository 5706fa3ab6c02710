/// Why a bundle cannot be used or made.
public enum BundleError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A file is not what the manifest or the format says.
  case file(path: String, expected: String, came: String)
  /// A bundle cannot be made where something is already.
  case exists(path: String)
  /// Whoever asked for the bundle gave up.
  case cancelled(path: String)

  /// One line that names the file.
  public var description: String {
    switch self {
    case .file(let path, let expected, let came):
      "\(path.printablePath): expected \(expected), came \(came)"
    case .exists(let path): "\(path.printablePath): expected a path that is free, came one in use"
    case .cancelled(let path): "\(path.printablePath): not made, interrupted"
    }
  }
}
