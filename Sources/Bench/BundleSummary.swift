import Graph
import Models

/// What `troika bundle` says when it is done.
struct BundleSummary {
  /// One line: tensors of one file and format.
  private struct Row {
    let file: String
    let format: String
    var tensors = 0
    var report = EncodingReport()
    var worst: (name: String, error: Double) = ("", -1)
  }

  private let rows: [Row]
  private let path: String
  private let manifest: BundleManifest

  init(_ reports: [BundleWriter.TensorReport], path: String, manifest: BundleManifest) {
    self.path = path
    self.manifest = manifest
    var rows: [Row] = []
    for entry in reports {
      let (file, format) = (entry.tensor.file, entry.tensor.type.dtype.rawValue)
      let found = rows.firstIndex { $0.file == file && $0.format == format }
      let index = found ?? rows.count
      if found == nil { rows.append(Row(file: file, format: format)) }
      rows[index].tensors += 1
      rows[index].report = rows[index].report + entry.report
      let error = entry.report.relativeError
      if error > rows[index].worst.error { rows[index].worst = (entry.tensor.name, error) }
    }
    self.rows = rows
  }

  /// A table of 80 columns.
  var text: String {
    func column(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    var lines = [
      "file    format         tensors   weights  bits  rms error   max error  palettes"
    ]
    for row in rows {
      let report = row.report
      let hasPalettes = report.clustered + report.uniform > 0
      lines.append(
        TimelineText.pad(row.file, 8) + TimelineText.pad(row.format, 14)
          + column("\(row.tensors)", 8) + column(Self.count(report.count), 10)
          + column(Format.fixed(report.bitsPerWeight, 2), 6)
          + column(Format.fixed(report.relativeError * 100, 3) + " %", 11)
          + column(Format.scientific(Double(report.largest)), 12)
          + (hasPalettes ? "  \(report.clustered)+\(report.uniform)" : "")
      )
    }
    for row in rows where row.report.noise > 0 && row.format.hasPrefix("int") {
      lines.append(
        "worst of \(row.file) \(row.format): \(Format.fixed(row.worst.error * 100, 2)) % "
          + Self.short(row.worst.name)
      )
    }
    lines.append(
      "\(path): \(Format.fixed(Double(manifest.byteCount) / 1e6, 1)) MB, "
        + "\(manifest.programs.count) programs, chunks "
        + manifest.chunks.map(String.init).joined(separator: ",")
        + ", prefill \(manifest.prefill.map(String.init).joined(separator: ",")), "
        + "context \(manifest.context)"
    )
    return lines.joined(separator: "\n")
  }

  /// A tensor's name without what all of the decoder's begin with.
  private static func short(_ name: String) -> String {
    let prefix = "model.language_model."
    return name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
  }

  private static func count(_ number: Int) -> String {
    number >= 1_000_000
      ? Format.fixed(Double(number) / 1e6, 2) + " M" : "\(number)"
  }

  var json: JSONValue {
    .object(fields: [
      ("path", .string(path)), ("weights", .string(manifest.weights.rawValue)),
      ("bytes", .integer(manifest.byteCount)),
      ("chunks", .array(manifest.chunks.map { .integer($0) })),
      ("prefill", .array(manifest.prefill.map { .integer($0) })),
      ("context", .integer(manifest.context)),
      (
        "programs",
        .array(
          manifest.programs.map { program in
            .object(fields: [
              ("name", .string(program.name)), ("operations", .integer(program.operationCount)),
              ("weightBytes", .integer(program.weightByteCount)),
            ])
          }
        )
      ),
      (
        "tensors",
        .array(
          rows.map { row in
            .object(fields: [
              ("file", .string(row.file)), ("format", .string(row.format)),
              ("count", .integer(row.tensors)), ("weights", .integer(row.report.count)),
              ("bytes", .integer(row.report.byteCount)),
              ("bitsPerWeight", .number(row.report.bitsPerWeight)),
              ("relativeError", .number(row.report.relativeError)),
              ("largestError", .number(Double(row.report.largest))),
              ("worstTensor", .string(row.worst.name)),
              ("worstRelativeError", .number(row.worst.error)),
              ("clusteredPalettes", .integer(row.report.clustered)),
              ("evenPalettes", .integer(row.report.uniform)),
            ])
          }
        )
      ),
    ])
  }
}
