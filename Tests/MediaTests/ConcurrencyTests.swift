import Media
import Testing

@Suite struct ConcurrencyTests {
  @Test func decodersRunSideBySide() async throws {
    let images = ["exif-orientation-3.jpg", "adobe-rgb-icc.jpg", "hopper.avif", "rgba-ramp.png"]
    let expected = try images.map { try ImageFile.decode(path: Fixtures.path("images/\($0)")) }
    let sound = try AudioFile.decode(path: Fixtures.path("audio/speech.opus"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for round in 0..<24 {
        group.addTask {
          let place = round % images.count
          let path = Fixtures.path("images/\(images[place])")
          let image = try ImageFile.decode(path: path)
          #expect(image == expected[place])
          #expect(throws: MediaError.self) {
            try ImageFile.decode(path: Fixtures.path("images/heic-truncated.heic"))
          }
        }
        group.addTask {
          let again = try AudioFile.decode(path: Fixtures.path("audio/speech.opus"))
          #expect(again == sound)
        }
        group.addTask {
          let reader = try VideoTests.open("count-30fps-2s.mp4")
          let numbers = try VideoTests.numbers(reader, fps: 1, maxFrames: 8)
          #expect(numbers == [0, 30])
        }
      }
      try await group.waitForAll()
    }
  }
}
