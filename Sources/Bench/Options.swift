import Devices
import Foundation
import Models

/// Options that several commands share.
enum Options {
  /// Worker threads: as asked for, else all processors this process may use.
  static func threads(_ arguments: Arguments) throws -> Int {
    try arguments.integer("threads", in: 1...1024) ?? ProcessInfo.processInfo.activeProcessorCount
  }

  /// Chooses the instruction set of the processor's kernels, where asked for.
  static func kernels(_ arguments: Arguments) throws {
    guard let kernels = arguments["kernels"] else { return }
    guard ["avx512", "avx2", "portable"].contains(kernels) else {
      throw UsageError("--kernels: expected avx512, avx2 or portable, got '\(kernels)'")
    }
    try CPUUnit.useKernels(kernels)
  }

  /// The Vulkan device that is asked for, with a folder for what its driver makes.
  static func gpu(_ arguments: Arguments) -> GPUOptions { gpu(named: arguments["gpu"]) }

  /// A Vulkan device by its name or number, or the best, with a folder for what its driver makes.
  static func gpu(named name: String?) -> GPUOptions {
    let environment = ProcessInfo.processInfo.environment
    let home = environment["XDG_CACHE_HOME"] ?? environment["HOME"].map { $0 + "/.cache" }
    return GPUOptions(device: name, cacheFolder: home.map { $0 + "/troika/gpu" })
  }

  /// Says that a first run compiles and tests shaders, where it does.
  static func announce(_ gpu: GPUOptions) {
    guard GPUUnit.isUntested(gpu) else { return }
    Output.note("gpu: first run with this driver, its shaders are compiled and tested")
  }

  /// The decoder's cuts, where asked for.
  static func layout(_ arguments: Arguments, _ text: TextConfiguration) throws -> ChunkLayout? {
    guard let given = arguments["chunks"] else { return nil }
    let count = text.layers.count
    let ends = given.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard let layout = ChunkLayout(ends: ends, layerCount: count) else {
      throw UsageError(
        "--chunks: expected rising ends of which the last is \(count), got '\(given)'"
      )
    }
    return layout
  }

  /// Rising sizes, where asked for.
  static func sizes(_ arguments: Arguments, _ name: String) throws -> [Int]? {
    guard let given = arguments[name] else { return nil }
    let sizes = given.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard zip([0] + sizes, sizes).allSatisfy({ $0 < $1 }), sizes.allSatisfy({ $0 <= 1 << 20 })
    else {
      throw UsageError("--\(name): expected rising numbers above 0, got '\(given)'")
    }
    return sizes
  }
}

/// Numbers as text.
enum Format {
  /// A fixed number of decimals.
  static func fixed(_ value: Double, _ decimals: Int) -> String {
    String(format: "%.\(decimals)f", value)
  }

  /// Four significant digits.
  static func significant(_ value: Double) -> String { String(format: "%.4g", value) }

  /// Two digits and an exponent.
  static func scientific(_ value: Double) -> String { String(format: "%.1e", value) }
}
