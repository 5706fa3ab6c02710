import Foundation
import TestSupport
import Testing

/// The arrows between modules and the sizes of files, read from the sources themselves.
@Suite struct ArrowTests {
  static let ours: Set<String> = ["Graph", "Devices", "Models", "Media", "Troika", "Bench"]
  static let allowed: [String: Set<String>] = [
    "Graph": [], "Devices": ["Graph"], "Models": ["Graph"], "Media": [],
    "Troika": ["Graph", "Devices", "Models", "Media"],
    "Bench": ["Troika", "Graph", "Devices", "Models", "Media"],
  ]

  static func files(below folder: String, suffixes: [String]) -> [URL] {
    let root = GoldenFolder.root.appendingPathComponent(folder)
    let all = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
    return (all?.compactMap { $0 as? URL } ?? []).filter { url in
      suffixes.contains { url.path.hasSuffix($0) }
    }
  }

  static func imports(of url: URL) throws -> Set<String> {
    let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
    let names = lines.compactMap { line -> String? in
      var words = line.split(separator: " ").map(String.init)
      while let first = words.first, first != "import" {
        let isModifier = first.hasPrefix("@") || ["public", "internal", "package"].contains(first)
        guard isModifier else { return nil }
        words.removeFirst()
      }
      return words.count == 2 ? words[1] : nil
    }
    return Set(names)
  }

  @Test func importsFollowTheArrows() throws {
    var seen = 0
    for (module, targets) in Self.allowed {
      for file in Self.files(below: "Sources/\(module)", suffixes: [".swift"]) {
        seen += 1
        let wrong = try Self.imports(of: file).intersection(Self.ours).subtracting(targets)
        #expect(wrong.isEmpty, "\(file.lastPathComponent) imports \(wrong)")
      }
    }
    #expect(seen > 50)
  }

  @Test func theIRNeedsNoFoundation() throws {
    for folder in ["IR", "Ops", "Trace", "Passes"] {
      for file in Self.files(below: "Sources/Graph/\(folder)", suffixes: [".swift"]) {
        #expect(try !Self.imports(of: file).contains("Foundation"), "\(file.lastPathComponent)")
      }
    }
  }

  @Test func modelsNameNoUnit() throws {
    for file in Self.files(below: "Sources/Models", suffixes: [".swift"]) {
      let text = try String(contentsOf: file, encoding: .utf8)
      #expect(
        !text.contains("UnitID") && !text.contains("neuralEngine"),
        "\(file.lastPathComponent)"
      )
    }
  }

  @Test func filesStaySmall() throws {
    for (folder, limit) in [("Sources", 400), ("Tests", 500)] {
      for file in Self.files(below: folder, suffixes: [".swift", ".c", ".h", ".comp"]) {
        let lines = try String(contentsOf: file, encoding: .utf8).split(
          separator: "\n",
          omittingEmptySubsequences: false
        )
        #expect(lines.count <= limit + 1, "\(file.lastPathComponent) has \(lines.count) lines")
      }
    }
  }

  @Test func sourcesForceNothing() throws {
    for file in Self.files(below: "Sources", suffixes: [".swift"]) {
      let text = try String(contentsOf: file, encoding: .utf8)
      #expect(!text.contains("try!") && !text.contains("fatalError("), "\(file.lastPathComponent)")
    }
  }
}
