/// What a bundle is made from.
public struct BundleSource: Sendable {
  /// The programs.
  public let model: Gemma4
  /// The numbers.
  public let rows: any RowSource
  /// The folder's other files by name.
  public let files: [(name: String, bytes: [UInt8])]
  /// Newlines around media.
  public let mediaStyle: MediaStyle
  /// What the user should know about the source.
  public let warnings: [String]

  /// A source from its parts.
  public init(
    model: Gemma4,
    rows: any RowSource,
    files: [(name: String, bytes: [UInt8])],
    mediaStyle: MediaStyle,
    warnings: [String] = []
  ) {
    self.model = model
    self.rows = rows
    self.files = files
    self.mediaStyle = mediaStyle
    self.warnings = warnings
  }

  /// A checkpoint folder in Hugging Face format.
  ///
  /// - Throws: where a file is missing or malformed.
  public init(checkpoint folder: String, model: Gemma4, rows: Checkpoint) throws {
    let names = try MappedFile.names(inFolder: folder)
    let style = MediaStyleDetection(folder: folder)
    self.init(
      model: model,
      rows: rows,
      files: try BundleWriter.copiedFiles.filter(names.contains).map {
        ($0, try MappedFile(folder + "/" + $0).withBytes { Array($0) })
      },
      mediaStyle: style.style,
      warnings: style.warning.map { [$0] } ?? []
    )
  }
}
