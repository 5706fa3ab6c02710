import Graph

/// What ran at the same time before the first token, for people.
enum OverlapText {
  static func lines(_ overlap: Overlap) -> [String] {
    guard !overlap.units.isEmpty else { return [] }
    let whole = overlap.makespanNanoseconds
    var lines = ["to the first token       busy ms   idle ms  idle because"]
    for unit in overlap.units {
      let causes = unit.idle.map { "\($0.cause) \(TimelineText.milliseconds($0.nanoseconds)) ms" }
      lines.append(
        TimelineText.pad(unit.unit.name, 20)
          + TimelineText.left(TimelineText.milliseconds(unit.busyNanoseconds), 12)
          + TimelineText.left(TimelineText.milliseconds(whole - unit.busyNanoseconds), 10)
          + "  " + causes.joined(separator: ", ")
      )
    }
    let bound = overlap.bound
    lines.append(
      "one after another \(TimelineText.milliseconds(overlap.serialNanoseconds)) ms, together "
        + "\(TimelineText.milliseconds(whole)) ms: \(Format.fixed(overlap.gain, 2)) times as fast"
    )
    let busiest = bound.busiestUnit.map { "\($0) with what nothing can overlap" } ?? "nothing"
    lines.append(
      "no schedule takes less than \(TimelineText.milliseconds(bound.nanoseconds)) ms: longest chain "
        + "\(TimelineText.milliseconds(bound.criticalPathNanoseconds)) ms, \(busiest) "
        + "\(TimelineText.milliseconds(bound.busiestNanoseconds)) ms"
    )
    return lines
  }
}
