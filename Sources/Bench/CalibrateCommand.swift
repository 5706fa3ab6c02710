import Foundation
import Graph
import Models
import Troika

/// `troika calibrate`: makes device profiles out of measurements.
enum CalibrateCommand: Command {
  static let name = "calibrate"
  static let summary = "measure this machine, or fit profiles to published rows"
  static let help = """
    usage: troika calibrate --model DIR [--out F] [--validate N] [OPTIONS]
           troika calibrate --published FILE [--refit] [--out DIR] [--json]

    With --model: times programs of the model on each unit of this machine and writes the profile
    `host`, which simulate, place and plan then know. --validate holds it to whole requests over
    random placements, measured in the same run, in turns with the programs.

      --model DIR         bundle or checkpoint to measure with
      --units U,…         units to measure (cpu,neuralEngine,gpu:emulated)
      --threads N         worker threads of each unit (all processors)
      --repeat N          samples of each program and request (5)
      --validate N        random placements to hold the profile to (0)
      --media-every N     of their requests one in N has a picture and another one a sound (8);
                          0 for none
      --seed N            which (1)
      --out F             the profile's file (\(KnownProfiles.hostPath))

    With --published: holds the device profiles to published measurements: prediction, published
    number and error of each, and the error of a fit that never saw the number. Exits 1 where a row
    marked `fit` is off by more than 5 %, or outside its range.

      --published F       measurements, as in Examples/calibration/published.json
      --refit             fit the profiles to the file's rows first
      --out DIR           write the fitted profiles there
      --json              one JSON document

    Example:
      troika calibrate --model .build/bundles/e2b-int4 --threads 1 --validate 30
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: [
        "published", "out", "model", "units", "threads", "repeat", "validate", "media-every",
        "seed",
      ],
      repeated: [],
      switches: ["refit", "json"]
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
    if arguments["model"] != nil {
      guard arguments["published"] == nil else {
        throw UsageError("--published: expected it or --model, got both")
      }
      return try host(arguments)
    }
    return try published(arguments)
  }

  // MARK: - This machine

  private static func host(_ arguments: Arguments) throws -> ExitCode {
    let units = try (arguments["units"] ?? "cpu,neuralEngine,gpu:emulated")
      .split(separator: ",", omittingEmptySubsequences: false)
      .map { try UnitID(known: String($0)) }
    let path = arguments["out"] ?? KnownProfiles.hostPath
    if arguments["out"] != nil { try FileOutput.check(path) }
    let calibration = HostCalibration(
      try ModelFolder(path: try arguments.required("model")),
      units: units,
      threads: try Options.threads(arguments),
      repeats: try arguments.integer("repeat", in: 1...1000) ?? 5
    )
    let result = try calibration.run(
      placements: try arguments.integer("validate", in: 0...10_000) ?? 0,
      mediaEvery: try mediaEvery(arguments),
      seed: UInt64(try arguments.integer("seed", in: 0...Int(Int32.max)) ?? 1)
    ) { ProgressLine.show("measuring", share: $0) }
    ProgressLine.clear()
    try FileManager.default.createDirectory(
      at: URL(fileURLWithPath: path).deletingLastPathComponent(),
      withIntermediateDirectories: true
    )
    let text = ProfileFile.document(result.profile).text(.indented, sortingKeys: false)
    try FileOutput.write(text + "\n", to: path)
    if arguments.has("json") {
      let document = CalibrationText.json(result.profile, result.validation)
      Output.line(document.text(.indented, sortingKeys: false))
    } else {
      CalibrationText.lines(result.profile, result.validation).forEach { Output.line($0) }
      Output.note("written to \(path)")
    }
    return .done
  }

  private static func mediaEvery(_ arguments: Arguments) throws -> Int {
    let every = try arguments.integer("media-every", in: 0...10_000) ?? 8
    guard every != 1 else {
      throw UsageError("--media-every: expected 0, or 2 and more, got '1'")
    }
    return every
  }

  // MARK: - Published rows

  private static func published(_ arguments: Arguments) throws -> ExitCode {
    if let folder = arguments["out"] { try FileOutput.check(folder + "/profile.json") }
    let fidelity = try Fidelity(
      path: try arguments.required("published"),
      refits: arguments.has("refit")
    ) { ProgressLine.show("fitting", share: $0) }
    ProgressLine.clear()
    if let folder = arguments["out"] { try write(fidelity.fitted, to: folder) }
    if arguments.has("json") {
      Output.line(FidelityText.json(fidelity).text(.indented, sortingKeys: false))
    } else {
      FidelityText.lines(fidelity).forEach { Output.line($0) }
    }
    return fidelity.lines.contains { $0.use == .fit && !$0.holds } ? .failed : .done
  }

  private static func write(_ profiles: [String: DeviceProfile], to folder: String) throws {
    for (name, profile) in profiles {
      let text = ProfileFile.document(profile).text(.indented, sortingKeys: false)
      try FileOutput.write(text + "\n", to: folder + "/" + name + ".json")
    }
  }
}
