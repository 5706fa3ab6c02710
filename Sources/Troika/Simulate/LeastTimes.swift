import Graph

/// What no placement of some parts can beat, by what each part takes on each unit.
struct LeastTimes {
  /// What a part takes on one unit at least.
  struct Time: Hashable {
    /// Nanoseconds of all its launches.
    let total: Double
    /// Nanoseconds of one launch in the chain that ends in a result; 0 for parts outside it.
    let single: Double
  }

  /// By part and choice of unit.
  let times: [[Time]]
  /// Which unit a choice is, by part.
  let units: [[UnitID]]

  /// A bound of everything that begins with some choices: what one unit has to do, and for each part
  /// all its launches with one launch of every other part before or behind them.
  func bound(_ beginning: [Int]) -> Double {
    var busy: [UnitID: Double] = [:]
    var chain = 0.0
    var longest = 0.0
    for index in times.indices {
      if index < beginning.count {
        let time = times[index][beginning[index]]
        busy[units[index][beginning[index]], default: 0] += time.total
        chain += time.single
        longest = max(longest, time.single > 0 ? time.total - time.single : 0)
      } else {
        chain += times[index].map(\.single).min() ?? 0
        let least = times[index].map { $0.single > 0 ? $0.total - $0.single : 0 }.min() ?? 0
        longest = max(longest, least)
      }
    }
    return max(chain + longest, busy.values.max() ?? 0)
  }
}
