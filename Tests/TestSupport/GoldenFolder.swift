import Foundation

/// Goldens of the reference implementation that the tests read in place.
public enum GoldenFolder {
  /// The project's root.
  public static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// A set with every kind of case, made with seed 2 of the tiny variant.
  public static let tiny = root.appendingPathComponent("Tests/Golden/e2b-tiny").path

  /// Its checkpoint folder.
  public static let model = tiny + "/model"

  /// A file of the set.
  public static func url(_ name: String) -> URL { URL(fileURLWithPath: tiny + "/" + name) }
}
