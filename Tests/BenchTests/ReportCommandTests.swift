import Foundation
import TestSupport
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// `troika report`: one page that needs nothing beside itself and believes nobody.
@Suite struct ReportCommandTests {
  private static let hostile = #"</script><img src=x onerror="alert('x')"> & 'quotes' "#

  /// Everything of a page that a reader without scripts has.
  private final class Outline: NSObject, XMLParserDelegate {
    var captions: [String] = []
    var elements: [String: Int] = [:]
    var attributes: [String] = []
    var text = ""
    private var open: [String] = []

    func parser(
      _: XMLParser,
      didStartElement name: String,
      namespaceURI _: String?,
      qualifiedName _: String?,
      attributes found: [String: String]
    ) {
      open.append(name)
      elements[name, default: 0] += 1
      attributes += found.keys
      if name == "caption" { captions.append("") }
    }

    func parser(
      _: XMLParser,
      didEndElement _: String,
      namespaceURI _: String?,
      qualifiedName _: String?
    ) { open.removeLast() }

    func parser(_: XMLParser, foundCharacters characters: String) {
      if open.last == "caption" { captions[captions.count - 1] += characters }
      if open.last != "script" { text += characters }
    }
  }

  private func inFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private func page(_ files: [String], _ folder: URL) throws -> (text: String, outline: Outline) {
    let out = folder.appendingPathComponent("report.html").path
    let outcome = try CommandLineTests.run(
      ["report"] + files + ["--out", out, "--title", Self.hostile]
    )
    #expect(outcome.code == 0 && outcome.errors.isEmpty && outcome.output.isEmpty, "\(outcome)")
    let text = try String(contentsOfFile: out, encoding: .utf8)
    #expect(text.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
    let parser = XMLParser(data: Data(text.drop { !$0.isNewline }.utf8))
    let outline = Outline()
    parser.delegate = outline
    #expect(parser.parse(), "\(String(describing: parser.parserError)) at \(parser.lineNumber)")
    return (text, outline)
  }

  private func write(_ document: Any, _ name: String, _ folder: URL) throws -> String {
    let url = folder.appendingPathComponent(name)
    try JSONSerialization.data(withJSONObject: document).write(to: url)
    return url.path
  }

  private func slice(_ name: String, _ thread: Int, _ start: Double) -> [String: Any] {
    [
      "name": name, "ph": "X", "pid": 1, "tid": thread, "ts": start, "dur": 5.5, "cat": "launch",
    ]
  }

  private func trace(_ folder: URL) throws -> String {
    func name(_ kind: String, _ thread: Int, _ name: String) -> [String: Any] {
      ["name": kind, "ph": "M", "pid": 1, "tid": thread, "args": ["name": name]]
    }
    let events = [
      name("process_name", 0, Self.hostile), name("thread_name", 1, "cpu"),
      name("thread_name", 2, Self.hostile), slice(Self.hostile, 1, 0),
      slice("\u{1}\u{202E}x", 2, 9),
    ]
    return try write(["traceEvents": events], "'<b>&\".json", folder)
  }

  private func bench(_ folder: URL) throws -> String {
    let stage: [String: Any] = [
      "stage": Self.hostile, "unit": "cpu", "busyNs": 5, "flops": 1_000_000, "weightBytes": 5000,
      "activationBytes": 100, "operations": 9, "elsewhere": 2, "samplesNs": [1000, 2000, 1500],
      "yardstickNs": [1, 1, 1], "disturbed": [1],
    ]
    let document: [String: Any] = [
      "schema": 1, "model": Self.hostile, "shapes": "chunks 6", "suite": "standard",
      "machine": [
        "processor": Self.hostile, "processors": 2, "threads": 2, "memoryBytes": 1 << 30,
        "governor": "unknown", "kernels": "avx2", "troika": "0.1", "compiler": "Swift",
      ],
      "limits": [["unit": "cpu", "flopsPerSecond": 1e11, "bytesPerSecond": 1e10]],
      "refusals": [["stage": "head", "unit": "neuralEngine", "reason": Self.hostile]],
      "time": ["wallNs": 100, "shares": ["open": 90], "residualNs": 10], "stages": [stage],
    ]
    return try write(document, "bench.json", folder)
  }

  /// One experiment, simulated for a machine like this and measured on it.
  private func sweep(_ folder: URL) throws -> String {
    let profile: [String: Any] = [
      "profile": 1, "name": "own", "units": ["cpu": ["productFlopsPerSecond": 1e11]],
    ]
    _ = try write(profile, "own.json", folder)
    let experiment: [String: Any] = [
      "experiment": 1, "name": Self.hostile, "models": [["folder": GoldenFolder.model]],
      "measure": true, "runs": 1, "contexts": [256], "profiles": ["own.json"],
      "requests": [["name": Self.hostile, "prompt": "Hello", "maxTokens": 2]],
      "placements": ["cpu", "chunk1=cpu"],
    ]
    let path = try write(experiment, "experiment.json", folder)
    let out = folder.appendingPathComponent("sweep.jsonl").path
    let outcome = try CommandLineTests.run(["place", "run", path, "--out", out])
    #expect(outcome.code == 0, "\(outcome.errors)")
    return out
  }

  private func output(_ words: [String], _ name: String, _ folder: URL) throws -> String {
    let outcome = try CommandLineTests.run(words + ["--json"])
    #expect(outcome.code == 0, "\(outcome.errors)")
    let url = folder.appendingPathComponent(name)
    try Data(outcome.output.utf8).write(to: url)
    return url.path
  }

  @Test func everyFigureIsATableAndNothingComesFromElsewhere() throws {
    try inFolder { folder in
      let phone = ["--synthetic", "tiny", "--placement", "mission"]
      let files = [
        try trace(folder), try bench(folder), try sweep(folder),
        try output(
          ["simulate"] + phone + ["--profile", "iphone-17-pro", "--context", "512"],
          "simulated.json",
          folder
        ),
        try output(["plan"] + phone + ["--context", "256"], "plan.json", folder),
        try output(
          [
            "generate", "--model", GoldenFolder.model, "--simulate", folder.path + "/own.json",
            "--placement", "cpu", "--max-tokens", "3", "Hi",
          ],
          "answer.json",
          folder
        ),
      ]
      let (text, outline) = try page(files, folder)
      for caption in [
        "Units of ", "Programs of ", "Waits across units of ", "Placements of ",
        "Predictions and measurements", "Stages of ",
        "Launches of ", "Roofline of ", "Files", "Machines", "Units", "Operations by unit",
        "Refusals, fallbacks and failures",
      ] {
        #expect(outline.captions.contains { $0.hasPrefix(caption) }, "\(caption)")
      }
      #expect(outline.elements["table"] == outline.captions.count)
      for name in ["link", "img", "iframe", "object", "base"] {
        #expect(outline.elements[name] == nil, "\(name)")
      }
      #expect(outline.elements["script"] == 1 && outline.elements["style"] == 1)
      #expect(!outline.attributes.contains { $0.hasPrefix("on") || $0 == "src" })
      for word in ["http", "url(", "@import", "fetch(", "XMLHttpRequest"] {
        #expect(!text.contains(word), "\(word)")
      }
    }
  }

  @Test func namesOfAnyoneStayText() throws {
    try inFolder { folder in
      let (text, outline) = try page([try trace(folder), try bench(folder)], folder)
      #expect(!text.contains("<img") && !text.contains("\u{202E}") && !text.contains("\u{1}"))
      #expect(text.components(separatedBy: "</script>").count == 2)
      #expect(outline.text.contains(Self.hostile))
      #expect(outline.elements["b"] == nil)
    }
  }

  @Test func shardsOfOneExperimentAreOne() throws {
    try inFolder { folder in
      let experiment: [String: Any] = [
        "experiment": 1, "name": "halves", "models": [["synthetic": "tiny"]], "contexts": [256],
        "requests": [["promptTokens": 8, "maxTokens": 2]], "profiles": ["iphone-17-pro"],
        "placements": ["cpu", "gpu", "neuralEngine", "mission"],
      ]
      let path = try write(experiment, "experiment.json", folder)
      let parts = (1...2).map { folder.appendingPathComponent("\($0).jsonl").path }
      for (index, part) in parts.enumerated() {
        let words = ["place", "run", path, "--out", part, "--shard", "\(index + 1)/2"]
        #expect(try CommandLineTests.run(words).code == 0)
      }
      let (_, outline) = try page(parts, folder)
      #expect(outline.captions.count { $0.hasPrefix("Placements of halves") } == 1)
      #expect(outline.text.contains("halves, 4 of 4 rows"))
    }
  }

  @Test func mistakesGetOneLineAndTheirCode() throws {
    try inFolder { folder in
      let odd = try write(["a": 1], "odd.json", folder)
      let broken = folder.appendingPathComponent("broken.json").path
      try Data("{".utf8).write(to: URL(fileURLWithPath: broken))
      let good = try bench(folder)
      let out = folder.appendingPathComponent("x.html").path
      let cases: [([String], Int32)] = [
        (["--out", out], 64), ([good], 64), ([odd, "--out", out], 65),
        ([broken, "--out", out], 65),
        (["/nonexistent", "--out", out], 65), ([good, "--out", "/dev/full"], 65),
        ([good, "--out", "/nonexistent/x.html"], 65),
      ]
      for (words, code) in cases {
        let outcome = try CommandLineTests.run(["report"] + words)
        #expect(outcome.code == code, "\(words): \(outcome.code) \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: out))
      }
    }
  }
}
