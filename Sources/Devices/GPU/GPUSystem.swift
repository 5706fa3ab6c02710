import CGPU

/// The Vulkan loader with an instance.
final class GPUSystem: @unchecked Sendable {
  let handle: OpaquePointer
  /// Every device that the loader knows, usable or not.
  let devices: [GPUDevice]

  static let advice = "install a driver, or software Vulkan: apt install mesa-vulkan-drivers"

  /// Opens the loader.
  ///
  /// - Throws: `DeviceError.unavailable` where there is none, or no driver.
  init(validates: Bool) throws(DeviceError) {
    var status: Int32 = 0
    guard let handle = tg_open(validates, validates, &status) else {
      let reason =
        switch UInt32(status) {
        case TG_NO_LOADER.rawValue:
          "no Vulkan loader (apt install libvulkan1 mesa-vulkan-drivers)"
        case TG_FAILED.rawValue where validates: "no validation layers"
        default: "no Vulkan driver; \(Self.advice)"
        }
      throw .unavailable(unit: UnitNames.gpu, reason: reason)
    }
    self.handle = handle
    devices = (0..<tg_device_count(handle)).map { index in
      var info = tg_info()
      tg_device_info(handle, index, &info)
      return GPUDevice(info, index: Int(index))
    }
  }

  deinit { tg_close(handle) }

  /// Messages of the validation layers so far, and the last one's text.
  var messages: (count: Int, last: String) {
    var text = [CChar](repeating: 0, count: 1024)
    let count = tg_messages(handle, &text, text.count)
    return (Int(count), String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
  }

  /// The device that a name or index picks, or the best one.
  ///
  /// - Throws: `DeviceError.unavailable` naming what there is.
  func device(_ wanted: String?) throws(DeviceError) -> GPUDevice {
    let usable = devices.filter { $0.obstacle == nil }
    guard let wanted else {
      // The first of the best.
      if let best = usable.max(by: { ($0.rank, $1.index) < ($1.rank, $0.index) }) { return best }
      let found = devices.map { "\($0.name) \($0.obstacle ?? "")" }.joined(separator: ", ")
      let reason = found.isEmpty ? "no Vulkan device" : "no usable Vulkan device (\(found))"
      throw .unavailable(unit: UnitNames.gpu, reason: "\(reason); \(Self.advice)")
    }
    let named = devices.first {
      "\($0.index)" == wanted || $0.name.lowercased().contains(wanted.lowercased())
    }
    guard let named else {
      let names = devices.map { "\($0.index) \($0.name)" }.joined(separator: ", ")
      throw .unavailable(
        unit: UnitNames.gpu,
        reason: "expected one of \(names.isEmpty ? "no devices" : names), got '\(wanted)'"
      )
    }
    if let obstacle = named.obstacle {
      throw .unavailable(unit: UnitNames.gpu, reason: "\(named.name) \(obstacle)")
    }
    return named
  }
}

/// Names for error texts.
enum UnitNames {
  static let gpu = "gpu"
}

extension GPUDevice {
  /// Every Vulkan device of this machine, usable or not.
  ///
  /// - Throws: `DeviceError.unavailable` where there is no loader or no driver.
  public static func all() throws -> [GPUDevice] { try GPUSystem(validates: false).devices }
}
