import Graph
import Models

extension ReportData {
  /// Each process of a trace is a timeline, each thread a lane.
  mutating func addTrace(_ node: JSONNode) throws {
    var processes: [Int: TraceProcess] = [:]
    for event in try node.elements("traceEvents") {
      try processes[try event.integer("pid", or: 0), default: TraceProcess()].add(event)
    }
    let drawn = processes.filter { !$0.value.slices.isEmpty }.sorted { $0.key < $1.key }
    sources.append(.init(file: node.subject, kind: "trace", about: "\(drawn.count) processes"))
    for (number, process) in drawn {
      lanes.append(process.lanes("\(node.subject): \(process.name ?? "process \(number)")"))
    }
  }
}

/// What a trace says of one process.
private struct TraceProcess {
  private typealias End = (thread: Int, time: Double)

  private(set) var name: String?
  private(set) var slices: [(thread: Int, name: String, start: Double, end: Double, isIdle: Bool)] =
    []
  private var threads: [Int: String] = [:]
  private var starts: [Int: End] = [:]
  private var ends: [Int: End] = [:]

  /// Takes an event; times are in microseconds there and in nanoseconds here.
  mutating func add(_ event: JSONNode) throws {
    let thread = try event.integer("tid", or: 0)
    switch (try event.string("ph"), event.value["name"]?.string) {
    case ("M", "process_name"): name = try event.member("args").string("name")
    case ("M", "thread_name"): threads[thread] = try event.member("args").string("name")
    case ("X", _):
      let start = try event.double("ts") * 1e3
      let end = start + max(0, try event.double("dur")) * 1e3
      // A unit that compiles runs nothing.
      let isIdle = event.value["cat"] == "idle" || event.value["cat"] == "compile"
      slices.append((thread, try event.string("name"), start, end, isIdle))
    case ("s", _): starts[try event.integer("id")] = (thread, try event.double("ts") * 1e3)
    case ("f", _): ends[try event.integer("id")] = (thread, try event.double("ts") * 1e3)
    default: break
    }
  }

  func lanes(_ title: String) -> ReportData.Lanes {
    let order = Set(slices.map(\.thread)).sorted()
    let numbers = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    let drawn = slices.map {
      ReportData.Lanes.Slice(
        lane: numbers[$0.thread] ?? 0,
        name: $0.name,
        start: $0.start,
        end: $0.end,
        isIdle: $0.isIdle
      )
    }
    var running = order.map { _ in [ReportData.Lanes.Slice]() }
    for slice in drawn.sorted(by: { ($0.start, $0.end) < ($1.start, $1.end) }) where !slice.isIdle {
      running[slice.lane].append(slice)
    }
    // Times are rounded: half a nanosecond is none.
    func slice(_ end: End, before: Bool) -> ReportData.Lanes.Slice? {
      guard let lane = numbers[end.thread].map({ running[$0] }) else { return nil }
      let time = end.time + (before ? 0.5 : -0.5)
      var (low, high) = (0, lane.count)
      while low < high {
        let middle = (low + high) / 2
        if lane[middle].start < time { low = middle + 1 } else { high = middle }
      }
      let index = before ? low - 1 : low
      return lane.indices.contains(index) ? lane[index] : nil
    }
    let arrows = starts.sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
      .compactMap { id, start -> ReportData.Lanes.Arrow? in
        guard let end = ends[id], let from = slice(start, before: true),
          let to = slice(end, before: false)
        else { return nil }
        return ReportData.Lanes.Arrow(from: from, to: to)
      }
    return ReportData.Lanes(
      title: title,
      lanes: order.map { threads[$0] ?? "thread \($0)" },
      slices: drawn,
      arrows: arrows
    )
  }
}

extension ReportData.Lanes {
  /// The timeline of an answer.
  init(title: String, timeline: [JSONNode]) throws {
    var order: [String] = []
    var tasks: [Int: Slice] = [:]
    var waits: [(slice: Slice, after: [Int])] = []
    for event in timeline {
      let unit = try event.string("unit")
      if !order.contains(unit) { order.append(unit) }
      let slice = Slice(
        lane: order.firstIndex(of: unit) ?? 0,
        name: try event.string("program"),
        start: try event.double("startNs"),
        end: try event.double("endNs"),
        isIdle: event.value["kind"] == "compile"
      )
      if let task = event.value["task"]?.integer { tasks[task] = slice }
      waits.append((slice, event.value["after"]?.array?.compactMap(\.integer) ?? []))
    }
    let arrows = waits.flatMap { slice, after in
      after.compactMap { tasks[$0] }.filter { $0.lane != slice.lane }.map {
        Arrow(from: $0, to: slice)
      }
    }
    self.init(title: title, lanes: order, slices: waits.map(\.slice), arrows: arrows)
  }
}
