import Dispatch
import Glibc
import Graph

/// Writes one weights file: safetensors, data aligned to 64 bytes.
///
/// Tensors in formats that safetensors does not know are bytes there; `__metadata__` names the format
/// and shape of each.
struct WeightsFileWriter {
  /// Numbers encoded at a time by one thread at most.
  private static let slabCount = 1 << 21

  let path: String
  let tensors: [StoredTensor]

  /// Tensors whose size keeps the next one aligned come first.
  init(_ path: String, _ tensors: [StoredTensor]) {
    self.path = path
    let aligned = tensors.filter { $0.type.byteCount % 64 == 0 }
    let others = tensors.filter { $0.type.byteCount % 64 != 0 }
      .sorted { $0.type.dtype.alignment > $1.type.dtype.alignment }
    self.tensors = aligned + others
  }

  /// Encodes all tensors.
  ///
  /// - Parameters:
  ///   - source: where the numbers come from.
  ///   - progress: called with the numbers that have been stored since the last call.
  /// - Returns: a report for each tensor.
  /// - Throws: where the disk is full or a tensor holds what cannot be stored.
  func write(
    from source: any RowSource,
    progress: (Int) throws -> Void
  ) throws -> [(StoredTensor, EncodingReport)] {
    let header = header()
    let dataCount = tensors.reduce(0) { $0 + $1.type.byteCount }
    let file = try OutputMap(path, byteCount: header.count + dataCount)
    header.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(start: file.pointer, count: bytes.count).copyMemory(from: bytes)
    }
    var offset = header.count
    var reports: [(StoredTensor, EncodingReport)] = []
    for tensor in tensors {
      var report = try encode(tensor, from: source, to: file.pointer + offset, progress)
      report.byteCount = tensor.type.byteCount
      guard report.unstorable == 0 else {
        throw CheckpointError.tensor(
          file: source.fileName(of: tensor.origin),
          name: tensor.origin,
          expected: "finite numbers that \(tensor.type.dtype.rawValue) can hold",
          came: "\(report.unstorable) \(report.unstorable == 1 ? "other" : "others")"
        )
      }
      reports.append((tensor, report))
      offset += tensor.type.byteCount
    }
    try file.close()
    return reports
  }

  private func encode(
    _ tensor: StoredTensor,
    from source: any RowSource,
    to target: UnsafeMutableRawPointer,
    _ progress: (Int) throws -> Void
  ) throws -> EncodingReport {
    let encoder = TensorEncoder(tensor.type)
    let group = TensorEncoder.rowGroup
    let step = max(1, Self.slabCount / max(1, encoder.columns * group)) * group
    let workers = 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    var total = EncodingReport()
    var row = 0
    while row < encoder.rows {
      let slabs = (0..<workers).map { row + $0 * step }.filter { $0 < encoder.rows }
        .map { $0..<min($0 + step, encoder.rows) }
      let results = IndexedResults(count: slabs.count, EncodingReport())
      let sink = RawTarget(pointer: target)
      DispatchQueue.concurrentPerform(iterations: slabs.count) { index in
        results.set(index, Result { try Self.encode(slabs[index], encoder, tensor, source, sink) })
      }
      for result in results.all { total = total + (try result.get()) }
      row = slabs.last?.upperBound ?? encoder.rows
      try progress(slabs.reduce(0) { $0 + $1.count } * encoder.columns)
    }
    return total
  }

  private static func encode(
    _ rows: Range<Int>,
    _ encoder: TensorEncoder,
    _ tensor: StoredTensor,
    _ source: any RowSource,
    _ target: RawTarget
  ) throws -> EncodingReport {
    let numbers = UnsafeMutableBufferPointer<Float>.allocate(capacity: rows.count * encoder.columns)
    defer { numbers.deallocate() }
    try source.read(tensor.origin, rows: rows, into: numbers)
    guard let base = numbers.baseAddress else { return EncodingReport() }
    return encoder.encode(base, rows, to: target.pointer)
  }

  private func header() -> [UInt8] {
    var root = JSONObject()
    var formats = JSONObject()
    var offset = 0
    for tensor in tensors {
      let shape = tensor.type.shape.extents
      formats[tensor.name] = .string(StoredFormat(tensor.type).text)
      var entry = JSONObject()
      let dense: (name: String, shape: [Int])
      switch tensor.type.dtype {
      case .f32: dense = ("F32", shape)
      case .f16: dense = ("F16", shape)
      default: dense = ("U8", [tensor.type.byteCount])
      }
      entry["dtype"] = .string(dense.name)
      entry["shape"] = .array(dense.shape.map { .integer($0) })
      entry["data_offsets"] = .array([
        .integer(offset), .integer(offset + tensor.type.byteCount),
      ])
      root[tensor.name] = .object(entry)
      offset += tensor.type.byteCount
    }
    root["__metadata__"] = .object(formats)
    var text = Array(JSONValue.object(root).text().utf8)
    while (text.count + 8) % 64 != 0 { text.append(UInt8(ascii: " ")) }
    let length = UInt64(text.count)
    return (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) } + text
  }
}

private struct RawTarget: @unchecked Sendable {
  let pointer: UnsafeMutableRawPointer
}
