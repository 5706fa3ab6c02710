import Graph

extension BenchReport {
  /// What several processes measured that did the same one after the other.
  ///
  /// Samples of a stage stand one process behind the other; times of making programs and of first
  /// calls, and busy times, are medians of the processes; limits are the best that any of them saw.
  ///
  /// - Parameters:
  ///   - reports: one of each process, of the same stages; one at least.
  ///   - wallNanoseconds: from the start of the first to the end of the last.
  public init(joining reports: [BenchReport], wallNanoseconds: Int) {
    self = reports[0]
    guard reports.count > 1 else { return }
    for index in limits.indices {
      for other in reports.flatMap(\.limits) where other.unit == limits[index].unit {
        limits[index] = limits[index].best(with: other)
      }
    }
    rows = rows.map { row in
      Row(
        joining: reports.compactMap { report in
          report.rows.first { $0.stage == row.stage && $0.unit == row.unit }
        }
      )
    }
    for other in reports.dropFirst().flatMap(\.shares) {
      guard let index = shares.firstIndex(where: { $0.name == other.name }) else { continue }
      shares[index].nanoseconds += other.nanoseconds
    }
    let within = reports.reduce(0) { $0 + $1.wallNanoseconds }
    shares.append(Share(name: "processes", nanoseconds: wallNanoseconds - within))
    self.wallNanoseconds = wallNanoseconds
  }
}

extension BenchReport.Row {
  /// A stage as several processes timed it.
  fileprivate init(joining rows: [BenchReport.Row]) {
    self = rows[0]
    func median(_ value: (BenchReport.Row) -> Int?) -> Int? {
      let values = rows.compactMap(value)
      return values.isEmpty ? nil : Int(SampleSummary(values.map(Double.init)).median)
    }
    samples = PairedSamples(joining: rows.map(\.samples))
    buildNanoseconds = median(\.buildNanoseconds)
    compileNanoseconds = median(\.compileNanoseconds)
    firstNanoseconds = median(\.firstNanoseconds)
    busyNanoseconds = median(\.busyNanoseconds) ?? 0
  }
}
