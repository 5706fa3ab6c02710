import Graph

/// The checks of a safetensors header.
enum SafetensorsHeader {
  static let byteLimit = 100_000_000

  /// The tensors of a whole file, sorted by offset, and the texts of its metadata.
  static func entries(
    of bytes: UnsafeRawBufferPointer,
    file: String
  ) throws -> (entries: [SafetensorsFile.Entry], metadata: [String: String]) {
    let text = try headerText(of: bytes, file: file)
    let dataStart = 8 + text.count
    let header = JSONNode(try JSONValue(parsing: text, subject: file), subject: file)
    var entries: [SafetensorsFile.Entry] = []
    var metadata: [String: String] = [:]
    for member in try header.object().members {
      if member.key == "__metadata__" {
        guard member.value.object != nil || member.value == .null else {
          throw JSONNode(member.value, subject: file, path: member.key).mismatch("object")
        }
        for entry in member.value.object?.members ?? [] { metadata[entry.key] = entry.value.string }
        continue
      }
      let node = JSONNode(member.value, subject: file, path: member.key)
      entries.append(try entry(member.key, node, dataStart: dataStart, size: bytes.count))
    }
    entries.sort {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    }
    try checkCoverage(entries, file: file, dataStart: dataStart, size: bytes.count)
    return (entries, metadata)
  }

  private static func headerText(
    of bytes: UnsafeRawBufferPointer,
    file: String
  ) throws(CheckpointError) -> UnsafeRawBufferPointer {
    guard bytes.count >= 8 else {
      throw CheckpointError.malformed(
        file: file,
        expected: "8 bytes of header length",
        came: "\(bytes.count) bytes"
      )
    }
    let length = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    guard length <= UInt64(byteLimit) else {
      throw CheckpointError.malformed(
        file: file,
        expected: "a header of at most \(byteLimit) bytes",
        came: "\(length)"
      )
    }
    let dataStart = 8 + Int(length)
    guard dataStart <= bytes.count else {
      throw CheckpointError.malformed(
        file: file,
        expected: "a header of \(length) bytes",
        came: "a file of \(bytes.count) bytes"
      )
    }
    let text = UnsafeRawBufferPointer(rebasing: bytes[8..<dataStart])
    guard text.first == UInt8(ascii: "{") else {
      throw CheckpointError.malformed(
        file: file,
        expected: "a header that is a JSON object",
        came: text.first.map { "byte \($0)" } ?? "an empty header"
      )
    }
    return text
  }

  private static func entry(
    _ name: String,
    _ node: JSONNode,
    dataStart: Int,
    size: Int
  ) throws -> SafetensorsFile.Entry {
    func refuse(_ expected: String, _ came: String) -> CheckpointError {
      .tensor(file: node.subject, name: name, expected: expected, came: came)
    }
    let dtypeName = try node.string("dtype")
    guard let dtype = SafetensorsDType(rawValue: dtypeName) else {
      throw refuse("a known dtype", "'\(dtypeName.printable)'")
    }
    let extents = try node.integers("shape")
    var bits = dtype.bitCount
    for extent in extents {
      guard extent >= 0 else { throw refuse("extents of at least 0", "\(extent)") }
    }
    for extent in extents where !extents.contains(0) {
      let (product, overflow) = bits.multipliedReportingOverflow(by: extent)
      guard !overflow else { throw refuse("a shape below 2^63 bits", "\(Shape(extents))") }
      bits = product
    }
    if extents.contains(0) { bits = 0 }
    guard bits % 8 == 0 else { throw refuse("whole bytes", "\(bits) bits") }
    let offsets = try node.integers("data_offsets")
    guard offsets.count == 2 else { throw refuse("two data offsets", "\(offsets.count)") }
    let dataSize = size - dataStart
    guard 0 <= offsets[0], offsets[0] <= offsets[1], offsets[1] <= dataSize else {
      throw refuse(
        "offsets within \(dataSize) bytes of data",
        "\(offsets[0])..<\(offsets[1])"
      )
    }
    guard offsets[1] - offsets[0] == bits / 8 else {
      throw refuse(
        "\(bits / 8) bytes for \(dtypeName)\(Shape(extents))",
        "\(offsets[1] - offsets[0])"
      )
    }
    return .init(
      name: name,
      dtype: dtype,
      shape: Shape(extents),
      range: dataStart + offsets[0]..<dataStart + offsets[1]
    )
  }

  private static func checkCoverage(
    _ entries: [SafetensorsFile.Entry],
    file: String,
    dataStart: Int,
    size: Int
  ) throws(CheckpointError) {
    var end = dataStart
    for entry in entries {
      guard entry.range.lowerBound == end else {
        throw .tensor(
          file: file,
          name: entry.name,
          expected: "data at offset \(end - dataStart)",
          came:
            "\(entry.range.lowerBound - dataStart), "
            + (entry.range.lowerBound < end ? "an overlap" : "a hole")
        )
      }
      end = entry.range.upperBound
    }
    guard end == size else {
      throw .malformed(
        file: file,
        expected: "\(end - dataStart) bytes of data",
        came: "\(size - dataStart)"
      )
    }
  }
}
