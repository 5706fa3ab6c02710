@testable import Media
import Testing

/// Timelines for tests.
enum Clips {
  static func steady(frames: Int, fps: Int) -> FrameTimeline? {
    guard frames > 0 else { return nil }
    return FrameTimeline(
      times: (0..<frames).map { Int64($0) },
      duration: Int64(frames),
      tick: (1, fps),
      framesPerSecond: Double(fps)
    )
  }

  static func random(_ generator: inout SeededGenerator) -> FrameTimeline {
    var times: [Int64] = [0]
    for _ in 0..<Int.random(in: 0..<60, using: &generator) {
      times.append(times[times.count - 1] + Int64.random(in: 1...5000, using: &generator))
    }
    let end = times[times.count - 1] + Int64.random(in: 0...5000, using: &generator)
    let tick = Int.random(in: 1...90_000, using: &generator)
    return FrameTimeline(times: times, duration: end, tick: (1, tick), framesPerSecond: nil)
  }
}

@Suite struct FrameSelectionTests {
  @Test func everyChoiceIsTheFrameShownThen() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<5000 {
      let timeline = Clips.random(&generator)
      let fps = Double.random(in: 0.01...60, using: &generator)
      let most = Int.random(in: 1...64, using: &generator)
      let choices = timeline.even(fps: fps, maxFrames: most)
      let count = Int64(choices.count)
      #expect(count >= 1 && count <= most)
      for (step, choice) in choices.enumerated() {
        // Compared without division: index is shown at or before i D / n, the next one is not.
        let limit = Int64(step) * timeline.duration
        #expect(choice.index == 0 || timeline.times[choice.index] * count <= limit)
        if choice.index + 1 < timeline.times.count {
          #expect(timeline.times[choice.index + 1] * count > limit)
        }
        #expect(choice.seconds == timeline.seconds(timeline.times[choice.index]))
      }
    }
  }

  @Test func countsFollowTheRule() throws {
    let tenths = try #require(Clips.steady(frames: 3, fps: 10))
    #expect(tenths.even(fps: 10, maxFrames: 8).map(\.index) == [0, 1, 2])
    #expect(tenths.even(fps: 1, maxFrames: 8).map(\.index) == [0])
    #expect(tenths.even(fps: 0, maxFrames: 8).count == 1)
    #expect(tenths.even(fps: .nan, maxFrames: 8).count == 1)
    #expect(tenths.even(fps: -1, maxFrames: 0).count == 1)
    let long = try #require(Clips.steady(frames: 30 * 7200, fps: 30))
    #expect(long.even(fps: 1, maxFrames: 8).map(\.label).last == "105:00")
    #expect(long.even(fps: 1, maxFrames: 1 << 40).count == 7200)
  }

  @Test func referenceNeverRepeatsOrOverruns() {
    var generator = SeededGenerator(seed: 2)
    for _ in 0..<5000 {
      let timeline = Clips.random(&generator)
      let wanted = Int.random(in: -1...80, using: &generator)
      let indices = timeline.reference(numFrames: wanted).map(\.index)
      #expect(indices.count == max(1, min(wanted, timeline.times.count)))
      #expect(Set(indices).count == indices.count)
      #expect(indices == indices.sorted())
      #expect(indices.last ?? 0 < timeline.times.count)
    }
  }
}
