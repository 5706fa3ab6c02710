/// Samples with what fixed pieces of work took beside each of them.
public struct PairedSamples: Hashable, Sendable {
  /// Nanoseconds, in the order they were taken.
  public let nanoseconds: [Int]
  /// Nanoseconds of each fixed work in the same rounds, the one that is most like the work first;
  /// empty where there was none, or one does not fit the samples.
  public let yardsticks: [[Int]]

  /// Which samples, by index and rising, other work on the machine has made longer.
  public let disturbed: [Int]
  /// How many samples each process took that ran the work, in their order.
  public let processes: [Int]

  /// Samples from their parts; of one process where `processes` does not add up to them.
  public init(
    _ nanoseconds: [Int],
    yardsticks: [[Int]] = [],
    disturbed: [Int] = [],
    processes: [Int] = []
  ) {
    self.nanoseconds = nanoseconds
    let fit = yardsticks.allSatisfy { $0.count == nanoseconds.count && !$0.contains(0) }
    self.yardsticks = fit ? yardsticks : []
    self.disturbed = disturbed
    let isPlausible = processes.allSatisfy { 1...max(nanoseconds.count, 1) ~= $0 }
    let isWhole = isPlausible && processes.reduce(0, +) == nanoseconds.count
    self.processes = isWhole && !processes.isEmpty ? processes : [nanoseconds.count]
  }

  /// The samples that several processes took one after the other.
  ///
  /// They have the same yardsticks; where one has others, all have none.
  public init(joining parts: [PairedSamples]) {
    var (disturbed, start): ([Int], Int) = ([], 0)
    for part in parts {
      disturbed += part.disturbed.map { $0 + start }
      start += part.nanoseconds.count
    }
    let counts = Set(parts.map(\.yardsticks.count))
    let yardsticks = counts.count == 1 ? counts.first ?? 0 : 0
    self.init(
      parts.flatMap(\.nanoseconds),
      yardsticks: (0..<yardsticks).map { index in parts.flatMap { $0.yardsticks[index] } },
      disturbed: disturbed,
      processes: parts.flatMap(\.processes)
    )
  }

  /// The samples of each process.
  public var byProcess: [PairedSamples] {
    var start = 0
    return processes.map { count in
      defer { start += count }
      return at(Array(start..<start + count))
    }
  }

  /// The samples that nothing disturbed.
  public var calm: PairedSamples {
    let kept = byProcess.map { part in
      part.at(part.nanoseconds.indices.filter { !part.disturbed.contains($0) })
    }
    return PairedSamples(joining: kept.filter { !$0.nanoseconds.isEmpty })
  }

  /// Samples of one process by index, rising.
  private func at(_ kept: [Int]) -> PairedSamples {
    PairedSamples(
      kept.map { nanoseconds[$0] },
      yardsticks: yardsticks.map { yardstick in kept.map { yardstick[$0] } },
      disturbed: kept.indices.filter { disturbed.contains(kept[$0]) }
    )
  }

  /// The samples by the clock in a few numbers.
  public var summary: SampleSummary { SampleSummary(byClock) }

  /// The samples by the clock.
  var byClock: [Double] { nanoseconds.map(Double.init) }

  /// The samples in units of each yardstick, whose own jitter is smoothed over three rounds.
  var relative: [[Double]] {
    yardsticks.map { yardstick in
      nanoseconds.indices.map { index in
        let near = yardstick[max(0, index - 1)...min(yardstick.count - 1, index + 1)].sorted()
        return Double(nanoseconds[index]) / SampleSummary.quantile(0.5, near.map(Double.init))
      }
    }
  }
}
