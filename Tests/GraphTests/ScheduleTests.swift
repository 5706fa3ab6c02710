import Graph
import TestSupport
import Testing

/// Task graphs, the scheduler's rule, simulated clocks, idle time and bounds.
@Suite struct ScheduleTests {
  private static let units: [UnitID] = [.cpu, .gpu, .neuralEngine]

  private static func random(
    _ random: inout RandomNumbers
  ) -> (graph: TaskGraph, costs: [TaskCost]) {
    var graph = TaskGraph()
    var costs: [TaskCost] = []
    for index in 0..<Int.random(in: 1...30, using: &random) {
      let after = (0..<index).filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      graph.add(
        "p\(index)",
        on: units[Int.random(in: 0..<3, using: &random)],
        kind: Int.random(in: 0..<5, using: &random) == 0 ? .transfer : .launch,
        after: after
      )
      costs.append(
        TaskCost(
          nanoseconds: Int.random(in: 0...10_000, using: &random),
          sharedByteCount: Int.random(in: 0...100_000, using: &random)
        )
      )
    }
    return (graph, costs)
  }

  @Test func timelinesObeyConservationLaws() {
    var random = RandomNumbers(seed: 3)
    for _ in 0..<400 {
      let (graph, costs) = Self.random(&random)
      let timeline = Simulator().timeline(graph, costs)
      let durations = costs.map(\.nanoseconds)
      let bound = ScheduleBound(graph, durations: durations)
      #expect(timeline.events.count == graph.tasks.count)
      #expect(bound.criticalPathNanoseconds <= bound.nanoseconds)
      #expect(bound.nanoseconds <= timeline.endNanoseconds)
      #expect(timeline.makespanNanoseconds <= timeline.serialNanoseconds)
      for unit in timeline.units {
        let idle = timeline.idle(of: unit).reduce(0) { $0 + $1.nanoseconds }
        #expect(timeline.busyNanoseconds(of: unit) + idle == timeline.makespanNanoseconds)
        let own = timeline.events.filter { $0.unit == unit }
        for (left, right) in zip(own, own.dropFirst()) {
          #expect(left.endNanoseconds <= right.startNanoseconds)
        }
      }
      for event in timeline.events {
        for earlier in event.after {
          let end = timeline.events.first { $0.task == earlier }?.endNanoseconds ?? .max
          #expect(end <= event.startNanoseconds)
        }
      }
    }
  }

  @Test func compilingIsTimeWithoutWorkThatHasACauseOfItsOwn() {
    var timeline = Timeline()
    func add(_ unit: UnitID, _ kind: Timeline.Kind, _ start: Int, _ end: Int, after: [Int]) {
      timeline.append(
        Timeline.Event(
          unit: unit,
          program: "p",
          kind: kind,
          startNanoseconds: start,
          endNanoseconds: end,
          task: timeline.events.count,
          after: after
        )
      )
    }
    add(.cpu, .launch, 0, 10, after: [])
    add(.gpu, .compile, 12, 90, after: [0])
    add(.gpu, .launch, 91, 100, after: [1])
    let idle = timeline.idle(of: .gpu)
    #expect(idle.map(\.cause) == [.data(from: .cpu), .queue, .compiling, .queue])
    #expect(idle.map(\.nanoseconds) == [10, 2, 78, 1])
    #expect(timeline.busyNanoseconds(of: .gpu) == 9)
    let overlap = Overlap(timeline)
    #expect(overlap.serialNanoseconds == 97 && overlap.gain > 0.9)
    #expect(overlap.bound.nanoseconds <= overlap.makespanNanoseconds)
    // What runs while something else is compiled for the unit is work.
    add(.gpu, .compile, 100, 150, after: [2])
    add(.gpu, .launch, 110, 130, after: [2])
    add(.gpu, .launch, 160, 170, after: [3])
    #expect(timeline.busyNanoseconds(of: .gpu) == 39)
    let causes = timeline.idle(of: .gpu).suffix(3).map(\.cause)
    #expect(causes == [.queue, .compiling, .queue])
    let sum = timeline.idle(of: .gpu).reduce(39) { $0 + $1.nanoseconds }
    #expect(sum == timeline.makespanNanoseconds)
  }

  @Test func moreBandwidthIsNeverSlowerForOneChainAUnit() {
    var random = RandomNumbers(seed: 4)
    for _ in 0..<200 {
      // Two chains that only share memory: no order can change, so time falls with bandwidth.
      var graph = TaskGraph()
      var costs: [TaskCost] = []
      var last = [-1, -1]
      for _ in 0..<20 {
        let lane = Int.random(in: 0...1, using: &random)
        last[lane] = graph.add("p", on: Self.units[lane], after: [last[lane]])
        costs.append(
          TaskCost(
            nanoseconds: Int.random(in: 100...10_000, using: &random),
            sharedByteCount: Int.random(in: 0...100_000, using: &random)
          )
        )
      }
      let ends = [1e9, 4e9, 1e10, 1e11].map { rate in
        Simulator(SharedResources(bytesPerSecond: rate)).timeline(graph, costs).endNanoseconds
      }
      for (slow, fast) in zip(ends, ends.dropFirst()) { #expect(fast <= slow + 20) }
      let free = Simulator().timeline(graph, costs).endNanoseconds
      #expect((ends.last ?? 0) >= free)
    }
  }

  @Test func theLowestReadyNumberGoesFirst() {
    var graph = TaskGraph()
    let gate = graph.add("gate", on: .gpu)
    graph.add("late", on: .cpu, after: [gate])
    graph.add("free", on: .cpu)
    let costs = [TaskCost(nanoseconds: 10), TaskCost(nanoseconds: 5), TaskCost(nanoseconds: 7)]
    let timeline = Simulator().timeline(graph, costs)
    #expect(timeline.events.map(\.program) == ["gate", "free", "late"])
    #expect(timeline.endNanoseconds == 15)
    #expect(
      timeline.idle(of: .cpu) == [
        .init(startNanoseconds: 7, endNanoseconds: 10, cause: .data(from: .gpu))
      ]
    )
    #expect(
      timeline.idle(of: .gpu) == [
        .init(startNanoseconds: 10, endNanoseconds: 15, cause: .finished)
      ]
    )
  }

  @Test func processorsAreShared() {
    var graph = TaskGraph()
    graph.add("one", on: .cpu)
    graph.add("two", on: .neuralEngine)
    let costs = [TaskCost](repeating: TaskCost(nanoseconds: 100, processors: 2), count: 2)
    func end(_ processors: Int?) -> Int {
      Simulator(SharedResources(processors: processors)).timeline(graph, costs).endNanoseconds
    }
    #expect(end(nil) == 100)
    #expect(end(4) == 100)
    #expect(end(2) == 200)
  }

  @Test func aUnitThatSleptWakesUp() {
    var graph = TaskGraph()
    let first = graph.add("first", on: .neuralEngine)
    let between = graph.add("between", on: .cpu, after: [first])
    graph.add("second", on: .neuralEngine, after: [between])
    func end(_ pause: Int) -> Int {
      let engine = TaskCost(nanoseconds: 10, wakeNanoseconds: 7, wakeAfterNanoseconds: 50)
      return Simulator().timeline(graph, [engine, TaskCost(nanoseconds: pause), engine])
        .endNanoseconds
    }
    #expect(end(50) == 17 + 50 + 10)
    #expect(end(51) == 17 + 51 + 17)
  }
}
