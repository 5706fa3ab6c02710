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

  /// Writes timelines side by side, each as a process of its own.
  static func write(_ parts: [Part], to path: String) throws {
    let events = parts.enumerated().flatMap { index, part in
      Lanes(part.timeline, process: index + 1).events(named: part.name)
    }
    let document = JSONValue.object(fields: [
      ("traceEvents", .array(events)), ("displayTimeUnit", "ms"),
    ])
    try FileOutput.write(document.text(.compact, sortingKeys: false), to: path)
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

  func events(named name: String) -> [JSONValue] {
    var events = [metadata("process_name", lane: 0, name)]
    for unit in timeline.units {
      events.append(metadata("thread_name", lane: lane(unit), unit.name))
    }
    events += timeline.events.map(slice)
    for unit in timeline.units {
      events += timeline.idle(of: unit).map { idle($0, on: unit) }
    }
    return events + arrows()
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
  private func arrows() -> [JSONValue] {
    var byTask: [Int: Timeline.Event] = [:]
    for event in timeline.events {
      if let task = event.task { byTask[task] = event }
    }
    var arrows: [JSONValue] = []
    for event in timeline.events {
      for earlier in event.after.compactMap({ byTask[$0] }) where earlier.unit != event.unit {
        let id = process * 1_000_000_000 + arrows.count / 2 + 1
        arrows.append(arrow("s", earlier.unit, at: Self.lastInstant(earlier), id: id))
        arrows.append(arrow("f", event.unit, at: event.startNanoseconds, id: id))
      }
    }
    return arrows
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
