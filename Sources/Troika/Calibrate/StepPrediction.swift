import Foundation
import Graph

/// A decode step as a chain of programs with the host's work in front.
struct StepPrediction: Sendable {
  let works: [PlannedWork]
  let context: Int

  func milliseconds(_ profile: DeviceProfile, returnsStates: Bool) -> Double {
    let returned = returnsStates ? profile.host[.stateReturnNanoseconds]?.value ?? 0 : 0
    return works.reduce(Self.host(profile, context: context)) {
      $0 + PublishedChecks.milliseconds($1, profile)
    } + returned / 1e6
  }

  static func host(_ profile: DeviceProfile, context: Int) -> Double {
    let figures = profile.host
    return
      ((figures[.stepNanoseconds]?.value ?? 0)
      + (figures[.stepPositionNanoseconds]?.value ?? 0) * Double(context)) / 1e6
  }
}

/// Two programs launched at the same time.
struct OverlapPrediction: Sendable {
  let works: [PlannedWork]
  let units: [UnitID]

  /// (sum of both alone - together) / the shorter alone: 1 where it is hidden, 0 where they take turns.
  func factor(_ profile: DeviceProfile) -> Double {
    var graph = TaskGraph()
    var costs: [TaskCost] = []
    for (work, unit) in zip(works, units) {
      for run in work.runs where run.unit == unit && !run.isMovement {
        guard let cost = profile.units[unit]?.cost(run.work) else { continue }
        graph.add(work.name, on: unit)
        costs.append(
          TaskCost(
            nanoseconds: Int(clamping: cost.nanoseconds),
            sharedByteCount: cost.sharedByteCount
          )
        )
      }
    }
    let together = Simulator(profile.resources).times(graph, costs).map(\.end).max() ?? 0
    let alone = costs.map(\.nanoseconds)
    guard let shorter = alone.min(), shorter > 0 else { return 0 }
    return Double(alone.reduce(0, +) - together) / Double(shorter)
  }
}

extension PublishedRow {
  /// Numbers of the chunks that the description names.
  var chunkNumbers: [Int] {
    let words = what.split { !$0.isLetter && !$0.isNumber }.map(String.init)
    return zip(words, words.dropFirst()).compactMap { word, next in
      word == "chunk" ? Int(next) : nil
    }
  }

  /// The number behind `name=` in the description.
  func value(of name: String) -> Int? {
    guard let range = what.range(of: name + "=") else { return nil }
    return Int(what[range.upperBound...].prefix { $0.isNumber })
  }

  /// The middle number of a shape such as `(1,2520,768)`.
  var tupleNumber: Int? {
    guard let open = what.firstIndex(of: "("), let close = what[open...].firstIndex(of: ")") else {
      return nil
    }
    let parts = what[what.index(after: open)..<close].split(separator: ",")
    return parts.count == 3 ? Int(parts[1]) : nil
  }

  /// Patches of a grid such as `60x39`.
  var gridPatches: Int? {
    guard let range = what.range(of: "grid ") else { return nil }
    let sides = what[range.upperBound...].split(separator: "x").compactMap { Int($0) }
    return sides.count == 2 ? sides[0] * sides[1] : nil
  }
}

extension UnitID {
  /// A unit by the name that published rows use; nil for several or other systems.
  init?(unit name: String) {
    guard let unit = try? UnitID(known: name) else { return nil }
    self = unit
  }
}
