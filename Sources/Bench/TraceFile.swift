import Graph
import Models

/// Trace Event files, as Perfetto and chrome://tracing read them: a lane for each unit, arrows where a
/// launch waited for another unit's, idle time with its cause.
enum TraceFile {
  /// A timeline and what its process is called.
  typealias Part = (name: String, timeline: Timeline)

  /// Writes one timeline.
  static func write(_ timeline: Timeline, named name: String = "troika", to path: String) throws {
    try write([(name, timeline)], to: path)
  }

  /// Writes timelines side by side, each as a process of its own; events go to the file as they are
  /// made, whatever there are of them.
  static func write(_ parts: [Part], to path: String) throws {
    try FileOutput.write(to: path) { file in
      var isFirst = true
      try file.append(#"{"traceEvents":["#)
      for (index, part) in parts.enumerated() {
        try Lanes(part.timeline, process: index + 1).events(named: part.name) { event in
          try file.append((isFirst ? "" : ",") + event.text(.compact, sortingKeys: false))
          isFirst = false
        }
      }
      try file.append(#"],"displayTimeUnit":"ms"}"#)
    }
  }
}

/// The lanes of one timeline.
private struct Lanes {
  let timeline: Timeline
  let process: Int
  private let lanes: [UnitID: Int]

  init(_ timeline: Timeline, process: Int) {
    self.timeline = timeline
    self.process = process
    lanes = Dictionary(
      uniqueKeysWithValues: timeline.units.enumerated().map { ($1, $0 + 1) }
    )
  }

  /// Hands over the events one by one; idle time without what is drawn as compiling.
  func events(named name: String, _ body: (JSONValue) throws -> Void) throws {
    let units = timeline.units
    let positions = timeline.positions
    try body(metadata("process_name", lane: 0, name))
    for unit in units { try body(metadata("thread_name", lane: lane(unit), unit.name)) }
    for event in timeline.events { try body(slice(event)) }
    for unit in units {
      try timeline.forEachIdle(of: unit, positions) { stretch in
        if stretch.cause != .compiling { try body(idle(stretch, on: unit)) }
      }
    }
    try arrows(positions, body)
  }

  private func lane(_ unit: UnitID) -> Int { lanes[unit] ?? 0 }

  private func microseconds(_ nanoseconds: Int) -> JSONValue {
    .number(Double(nanoseconds - timeline.startNanoseconds) / 1e3)
  }

  private func metadata(_ kind: String, lane: Int, _ name: String) -> JSONValue {
    .object(fields: [
      ("name", .string(kind)), ("ph", "M"), ("pid", .integer(process)), ("tid", .integer(lane)),
      ("args", .object(fields: [("name", .string(name))])),
    ])
  }

  private func slice(_ event: Timeline.Event) -> JSONValue {
    .object(fields: [
      ("name", .string(event.program)), ("cat", .string(event.kind.rawValue)), ("ph", "X"),
      ("pid", .integer(process)), ("tid", .integer(lane(event.unit))),
      ("ts", microseconds(event.startNanoseconds)),
      ("dur", .number(Double(event.nanoseconds) / 1e3)),
    ])
  }

  private func idle(_ idle: Timeline.Idle, on unit: UnitID) -> JSONValue {
    .object(fields: [
      ("name", .string("idle: \(idle.cause)")), ("cat", "idle"), ("ph", "X"),
      ("pid", .integer(process)), ("tid", .integer(lane(unit))),
      ("ts", microseconds(idle.startNanoseconds)),
      ("dur", .number(Double(idle.nanoseconds) / 1e3)),
    ])
  }

  /// A pair of flow events for each wait across lanes: from the end of one slice to the start of the
  /// other.
  private func arrows(
    _ positions: TaskPositions,
    _ body: (JSONValue) throws -> Void
  ) throws {
    var id = process * 1_000_000_000
    for event in timeline.events {
      for position in event.after.compactMap({ positions[$0] }) {
        let earlier = timeline.events[position]
        guard earlier.unit != event.unit else { continue }
        id += 1
        try body(arrow("s", earlier.unit, at: Self.lastInstant(earlier), id: id))
        try body(arrow("f", event.unit, at: event.startNanoseconds, id: id))
      }
    }
  }

  /// An arrow starts inside its slice, not at the next one's beginning.
  private static func lastInstant(_ event: Timeline.Event) -> Int {
    max(event.startNanoseconds, event.endNanoseconds - 1)
  }

  private func arrow(_ phase: String, _ unit: UnitID, at time: Int, id: Int) -> JSONValue {
    .object(
      fields: [
        ("name", "waits for"), ("cat", "dependency"), ("ph", .string(phase)), ("id", .integer(id)),
        ("pid", .integer(process)), ("tid", .integer(lane(unit))), ("ts", microseconds(time)),
      ] + (phase == "f" ? [("bp", "e")] : [])
    )
  }
}
