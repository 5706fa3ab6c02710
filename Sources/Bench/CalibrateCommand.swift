import Foundation
import Graph
import Models
import Troika

/// `troika calibrate`: makes device profiles out of measurements.
enum CalibrateCommand: Command {
  static let name = "calibrate"
  static let summary = "measure this machine, or fit profiles to published rows"
  static let help = """
    usage: troika calibrate --published FILE [--refit] [--out DIR] [--json]

    Holds the device profiles to published measurements: prediction, published number and error of
    each, and the error of a fit that never saw the number. Exits 1 where a row marked `fit` is off by
    more than 5 %, or outside its range.

      --published F       measurements, as in Examples/calibration/published.json
      --refit             fit the profiles to the file's rows first
      --out DIR           write the fitted profiles there
      --json              one JSON document

    Example:
      troika calibrate --published Examples/calibration/published.json
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(
      words,
      valued: ["published", "out"],
      repeated: [],
      switches: ["refit", "json"]
    )
    if let extra = arguments.words.first { throw UsageError("\(extra): expected no such word") }
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
