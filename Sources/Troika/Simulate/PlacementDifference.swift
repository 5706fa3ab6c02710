import Graph

/// Why one simulated request takes longer than another, part by part.
public struct PlacementDifference: Hashable, Sendable {
  /// One cause, in nanoseconds that the other placement loses by it; below 0 where it gains.
  public struct Cause: Hashable, Sendable {
    /// The cause in words.
    public let words: String
    /// What it costs the other placement.
    public let nanoseconds: Double
  }

  /// The causes, the heaviest first.
  public let causes: [Cause]

  /// The causes between two requests up to the first token, or of a decode step.
  ///
  /// - Parameters:
  ///   - best: the better one.
  ///   - other: the one that loses.
  ///   - isStep: whether decode steps are compared.
  public init(_ best: Simulation, _ other: Simulation, isStep: Bool) {
    func isPicked(_ launch: Simulation.Launch) -> Bool {
      (launch.program.hasSuffix(".decode") || launch.program == "host.step") == isStep
    }
    var causes: [Cause] = []
    let (mine, theirs) = (best.launches.filter(isPicked), other.launches.filter(isPicked))
    let programs = (mine + theirs).map(\.program)
    var seen: Set<String> = []
    for program in programs where seen.insert(program).inserted {
      let (left, right) = (mine.time(program, isStep), theirs.time(program, isStep))
      guard abs(right.time - left.time) >= 1 else { continue }
      let words: String
      if left.units.isEmpty {
        words = "one program more: \(program) on \(right.units)"
      } else if right.units.isEmpty {
        words = "one program fewer: \(program)"
      } else if left.units == right.units {
        words = "\(program) takes longer on \(right.units)"
      } else if right.units.contains("+") {
        words = "\(program) is split over \(right.units), \(left.units) runs all of it"
      } else {
        words = "\(program) on \(right.units) in place of \(left.units)"
      }
      causes.append(Cause(words: words, nanoseconds: right.time - left.time))
    }
    if !isStep {
      func overlap(_ one: Simulation) -> Double {
        Double(one.serialNanoseconds) - one.firstToken.value
      }
      let lost = overlap(best) - overlap(other)
      if abs(lost) >= 1 {
        causes.append(
          Cause(words: lost > 0 ? "less of it overlaps" : "more of it overlaps", nanoseconds: lost)
        )
      }
    }
    self.causes = causes.sorted { abs($0.nanoseconds) > abs($1.nanoseconds) }
  }
}

extension [Simulation.Launch] {
  /// Nanoseconds of a program's launches, and the units that run it.
  fileprivate func time(_ program: String, _ isStep: Bool) -> (time: Double, units: String) {
    let own = filter { $0.program == program }
    let time = own.reduce(0.0) { $0 + $1.nanoseconds.value * (isStep ? 1 : Double($1.count)) }
    return (time, own.map(\.unit.name).joined(separator: "+"))
  }
}

extension Simulation {
  /// Launches up to the first token, or of one decode step.
  public func launchCount(isStep: Bool) -> Int {
    let picked = launches.filter { $0.program.hasSuffix(".decode") == isStep }
    return picked.reduce(0) { $0 + (isStep ? 1 : $1.count) }
  }
}
