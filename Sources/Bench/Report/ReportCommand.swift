import Foundation

/// `troika report`: one page from files of results.
enum ReportCommand: Command {
  static let name = "report"
  static let summary = "make a page from files of results and traces"
  static let help = """
    usage: troika report FILE… --out PAGE.html [--title T]

    One HTML page that needs nothing beside itself: timelines by unit, latency of stages, placements,
    predictions beside measurements, rooflines, and what did not run where it was placed. Files are
    documents of bench (JSON or JSONL), place run, place compare, simulate, generate and plan, and
    traces; shards of one experiment are shown as one. Figures are tables too, for readers and prints
    without scripts.

      --out F             the page
      --title T           what it is called (Troika report)

    Example:
      troika bench --model DIR --save bench.json
      troika simulate --synthetic e2b --placement mission --profile iphone-17-pro --images 1 \\
        --trace trace.json --json > simulated.json
      troika place run Examples/experiments/moves.json --out moves.jsonl
      troika report bench.json simulated.json trace.json moves.jsonl --out report.html
    """

  static func start(_ words: [String]) async throws -> ExitCode {
    let arguments = try Arguments(words, valued: ["out", "title"])
    guard !arguments.words.isEmpty else {
      throw UsageError("report: expected files of results, got none")
    }
    let out = try arguments.required("out")
    try FileOutput.check(out)
    let data = try ReportData(files: arguments.words)
    let page = ReportPage.text(data, title: arguments["title"] ?? "Troika report")
    try FileOutput.write(page, to: out)
    return .done
  }
}
