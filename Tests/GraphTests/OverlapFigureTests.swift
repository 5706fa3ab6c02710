import Testing

@testable import Graph

/// What timelines say about themselves.
@Suite struct OverlapFigureTests {
  private func event(
    _ unit: UnitID,
    _ span: Range<Int>,
    _ task: Int,
    after: [Int] = []
  ) -> Timeline.Event {
    Timeline.Event(
      unit: unit,
      program: "p\(task)",
      startNanoseconds: span.lowerBound,
      endNanoseconds: span.upperBound,
      task: task,
      after: after
    )
  }

  @Test func figuresOfAHandMadeTimeline() {
    var timeline = Timeline()
    timeline.append(event(.gpu, 0..<40, 0))
    timeline.append(event(.cpu, 0..<30, 1))
    timeline.append(event(.cpu, 45..<75, 2, after: [0, 1]))
    timeline.append(event(.gpu, 50..<60, 3, after: [0]))
    let overlap = Overlap(timeline)
    #expect(overlap.serialNanoseconds == 110)
    #expect(overlap.makespanNanoseconds == 75)
    #expect(overlap.bound.nanoseconds == 70)
    #expect(overlap.bound.criticalPathNanoseconds == 70)
    let cpu = overlap.units.first { $0.unit == .cpu }
    #expect(cpu?.busyNanoseconds == 60)
    #expect(cpu?.idle.map(\.cause) == [.data(from: .gpu), .queue])
    #expect(cpu?.idle.map(\.nanoseconds) == [10, 5])
    let gpu = overlap.units.first { $0.unit == .gpu }
    #expect(gpu?.idle.map(\.nanoseconds) == [10, 15])
    #expect(gpu?.idle.map(\.cause) == [.queue, .finished])
    #expect(overlap == Overlap(timeline.before(task: 4)))
    #expect(timeline.before(task: 2).events.count == 2)
  }

  @Test func statesOrderReadersAndWriters() {
    var hazards = StateHazards()
    #expect(hazards.tasks(reading: ["a"], writing: ["a"]) == [])
    hazards.note(0, reading: ["a"], writing: ["a"])
    hazards.note(1, reading: ["a"], writing: [])
    hazards.note(2, reading: ["a"], writing: [])
    #expect(hazards.tasks(reading: ["a"], writing: []) == [0])
    #expect(Set(hazards.tasks(reading: [], writing: ["a"])) == [1, 2])
    #expect(hazards.tasks(reading: ["b"], writing: ["b"]) == [])
  }
}
