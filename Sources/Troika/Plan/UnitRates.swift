import Devices
import Foundation
import Graph

/// Rates of units, kept between processes by machine, unit, device and driver.
struct UnitRates {
  /// Where they are kept; nil for nowhere.
  private let path: String?
  private let machine: String

  /// Rates of a machine.
  ///
  /// - Parameters:
  ///   - folder: where they are kept; nil for nowhere.
  ///   - threads: worker threads of units on the processor.
  init(folder: String?, threads: Int) {
    path = folder.map { "\($0)/rates.json" }
    let processor = HostMachine.current().processor
    let count = ProcessInfo.processInfo.activeProcessorCount
    machine = "\(processor), \(count) processors, \(threads) threads"
  }

  /// A unit's rate as an earlier process found it.
  func known(_ unit: any ComputeUnit) -> UnitRate? { all[key(unit)] }

  /// Rates of units, measured together where any is not known.
  ///
  /// - Returns: a rate for each unit, in their order.
  /// - Throws: where a unit does not run a linear operation.
  func rates(_ units: [any ComputeUnit]) throws -> [UnitRate] {
    let found = units.compactMap { known($0) }
    if found.count == units.count { return found }
    let rates = try UnitRate.measuring(units)
    for (rate, unit) in zip(rates, units) { keep(rate, unit) }
    return rates
  }

  private func key(_ unit: any ComputeUnit) -> String {
    "\(machine); \(unit.profile.unit): \(unit.profile.summary)"
  }

  private var all: [String: UnitRate] {
    guard let path, let data = FileManager.default.contents(atPath: path) else { return [:] }
    let rates = (try? JSONDecoder().decode([String: UnitRate].self, from: data)) ?? [:]
    return rates.filter { $0.value.flopsPerSecond > 0 && $0.value.weightBytesPerSecond > 0 }
  }

  /// Keeps a unit's rate; what cannot be written is measured again next time.
  func keep(_ rate: UnitRate, _ unit: any ComputeUnit) {
    guard let path else { return }
    var rates = all
    rates[key(unit)] = rate
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    guard let data = try? encoder.encode(rates) else { return }
    let url = URL(fileURLWithPath: path)
    try? FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(),
      withIntermediateDirectories: true
    )
    try? data.write(to: url, options: .atomic)
  }
}
