import CGPU
import Foundation

/// An open device: its memory, its pipelines, its timeline.
final class GPUContext: @unchecked Sendable {
  let system: GPUSystem
  let device: GPUDevice
  let options: GPUOptions
  let family: GPUOptions.Family
  let handle: OpaquePointer
  private let pipelines = Protected<[GPUPipeline: OpaquePointer]>([:])
  private let failure = Protected<DeviceError?>(nil)
  private let chosenTiles: Protected<GPUTiles>
  /// A queue takes one submission at a time.
  private let submission = NSLock()
  /// Lanes of the subgroup that a product of texels runs in; 8 where it does not.
  let lanes: Int
  let folder: GPUCacheFolder

  init(_ options: GPUOptions) throws(DeviceError) {
    self.options = options
    system = try GPUSystem(validates: options.validates)
    device = try system.device(options.device)
    family = options.family ?? .suiting(device)
    guard family == .tiles || GPUTiles.lanes.contains(device.subgroupSize) else {
      throw .unavailable(unit: UnitNames.gpu, reason: "\(device.name) has no subgroups of 8 or 16")
    }
    lanes = family == .texels ? device.subgroupSize : 8
    chosenTiles = Protected(GPUTiles(lanes: lanes))
    folder = GPUCacheFolder(options.cacheFolder, device)
    let known = folder.read("pipelines")
    var status: Int32 = 0
    let (loader, index) = (system.handle, UInt32(device.index))
    let opened = known.withUnsafeBytes { bytes in
      tg_device_open(
        loader,
        index,
        bytes.baseAddress,
        bytes.count,
        &status
      )
    }
    guard let opened else {
      throw .unavailable(
        unit: UnitNames.gpu,
        reason: "\(device.name) cannot be opened (status \(status))"
      )
    }
    handle = opened
  }

  deinit {
    savePipelines()
    pipelines.update { $0.values.forEach { tg_pipeline_destroy($0) } }
    tg_device_close(handle)
  }

  /// Invocations of a workgroup that works on rows.
  var rowLanes: Int { family == .texels ? lanes : max(64, device.subgroupSize) }

  /// Rows of a weight matrix in a tile of the packed layout.
  var packedRows: Int { 8 * lanes }

  /// Sizes of product tiles for programs that are lowered from now on.
  var tiles: GPUTiles {
    get { chosenTiles.update { $0 } }
    set { chosenTiles.update { $0 = newValue } }
  }

  /// What the device leaves open of tile sizes.
  var tileChoices: [GPUTiles.Choice] {
    GPUTiles.choices(family, lanes: lanes, hasMatrices: device.matrix != nil)
  }

  /// The file of self-test results.
  var selfTestName: String { family.selfTestName }

  /// Bytes of scores that are made at a time: what stays in a processor's cache, or keeps a real
  /// device busy.
  var scratchByteCount: Int { device.kind == .software ? 8 << 20 : 64 << 20 }

  /// A pipeline, made on first use.
  ///
  /// - Throws: `DeviceError` where the driver does not take it.
  func pipeline(_ key: GPUPipeline) throws -> OpaquePointer {
    try pipelines.update { known in
      if let pipeline = known[key] { return pipeline }
      guard let text = ShaderCode.all[key.shader.rawValue], let code = Data(base64Encoded: text)
      else { throw error(TG_FAILED, "no shader \(key.shader.rawValue)") }
      let words = code.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
      var status: Int32 = 0
      let made = tg_pipeline_create(
        handle,
        words,
        code.count,
        key.shader.kinds,
        UInt32(key.shader.kinds.count),
        UInt32(key.pushCount * 4),
        key.constants,
        UInt32(key.constants.count),
        key.shader == .matrixHalf,
        &status
      )
      guard let made else { throw error(tg_status(UInt32(status)), key.shader.rawValue) }
      known[key] = made
      return made
    }
  }

  /// Writes the pipelines so far to the cache folder.
  func savePipelines() {
    guard folder.exists else { return }
    var data = [UInt8](repeating: 0, count: tg_cache_data(handle, nil, Int.max))
    let count = tg_cache_data(handle, &data, data.count)
    folder.write("pipelines", Data(data.prefix(count)))
  }

  /// The typed error of a status.
  func error(_ status: tg_status, _ program: String, byteCount: Int = 0) -> DeviceError {
    switch status {
    case TG_OUT_OF_MEMORY: .outOfMemory(unit: UnitNames.gpu, byteCount: byteCount)
    case TG_DEVICE_LOST:
      .lost(unit: UnitNames.gpu, program: program, reason: "\(device.name) was lost")
    default: .launch(unit: UnitNames.gpu, program: program, reason: "Vulkan call failed")
    }
  }

  /// Runs recordings one after the other and waits for each.
  ///
  /// - Throws: `DeviceError`; a device that was lost or hangs stays failed.
  func run(_ recordings: [GPURecording], program: String) throws {
    if let known = failure.update({ $0 }) { throw known }
    let values = try recordings.map { recording in
      try submit(program) { tg_submit(handle, recording.handle, $0) }
    }
    for (recording, value) in zip(recordings, values) {
      try wait(value, patience: recording.patience, program)
      recording.hasRun = true
    }
  }

  /// Submits and returns the value that the timeline comes to.
  func submit(
    _ program: String,
    _ body: (UnsafeMutablePointer<UInt64>) -> Int32
  ) throws -> UInt64 {
    submission.lock()
    defer { submission.unlock() }
    var value: UInt64 = 0
    try check(body(&value), program)
    return value
  }

  /// Waits until the timeline has come to a value.
  func wait(_ value: UInt64, patience: Int, _ program: String) throws {
    let status = tg_wait(handle, value, UInt64(patience))
    guard UInt32(status) == TG_TIMEOUT.rawValue else { return try check(status, program) }
    let problem = DeviceError.lost(
      unit: UnitNames.gpu,
      program: program,
      reason: "\(device.name) made no progress for \(patience / 1_000_000) ms"
    )
    failure.update { $0 = problem }
    throw problem
  }

  private func check(_ status: Int32, _ program: String) throws {
    guard UInt32(status) != TG_OK.rawValue else { return }
    let problem = error(tg_status(UInt32(status)), program)
    if UInt32(status) == TG_DEVICE_LOST.rawValue { failure.update { $0 = problem } }
    throw problem
  }
}

/// One shader with its constants.
struct GPUPipeline: Hashable, Sendable {
  let shader: GPUShader
  let pushCount: Int
  let constants: [UInt32]
}

extension GPUOptions.Family {
  /// The kernels for a device.
  static func suiting(_ device: GPUDevice) -> GPUOptions.Family {
    device.kind == .software && GPUTiles.lanes.contains(device.subgroupSize) ? .texels : .tiles
  }

  /// The file of self-test results: one for each set of shaders and kernels.
  var selfTestName: String { "selftest-\(rawValue)-\(ShaderCode.digest)" }

  /// The file of tile sizes, likewise.
  var tilesName: String { "tiles-\(rawValue)-\(ShaderCode.digest)" }
}
