import Foundation
import Media
import Testing

/// Damages the small fixtures in seeded ways; whatever comes of it, it is a picture or an error.
///
/// TROIKA_FUZZ_ITERATIONS sets the number of damaged files per test, TROIKA_FUZZ_SEED the seed.
@Suite(.serialized) struct FuzzTests {
  static func setting(_ name: String, _ fallback: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? fallback
  }

  static let seed = UInt64(setting("TROIKA_FUZZ_SEED", 7))

  static func fixtures(_ folders: [String], below limit: Int) throws -> [(String, [UInt8])] {
    try folders.flatMap { folder in
      try Fixtures.files(folder).map { "\(folder)/\($0)" }
    }
    .map { ($0, [UInt8](try Data(contentsOf: URL(fileURLWithPath: Fixtures.path($0))))) }
    .filter { !$0.1.isEmpty && $0.1.count < limit }
  }

  /// Flips, sets, drops, repeats and cuts bytes; the head, where sizes live, more often.
  static func damage(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var result = bytes
    for _ in 0..<Int.random(in: 1...8, using: &generator) where !result.isEmpty {
      let reach = Bool.random(using: &generator) ? min(result.count, 96) : result.count
      let place = Int.random(in: 0..<reach, using: &generator)
      switch Int.random(in: 0..<8, using: &generator) {
      case 0, 1: result[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
      case 2: result[place] = UInt8.random(in: 0...255, using: &generator)
      case 3: result[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
      case 4: result.removeSubrange(place..<min(result.count, place + reach / 16 + 1))
      case 5: result.insert(contentsOf: result[place..<min(result.count, place + 16)], at: place)
      case 6:
        for offset in place..<min(result.count, place + 4) {
          result[offset] = UInt8.random(in: 0...255, using: &generator)
        }
      default: result.removeLast(Int.random(in: 0...result.count / 2, using: &generator))
      }
    }
    return result
  }

  @Test func damagedImages() throws {
    let seeds = try Self.fixtures(["images"], below: 32_000)
    var generator = SeededGenerator(seed: Self.seed)
    let limits = ImageLimits(pixelCount: 4_000_000)
    var (decoded, refused) = (0, 0)
    for _ in 0..<Self.setting("TROIKA_FUZZ_ITERATIONS", 3000) {
      guard let (name, bytes) = seeds.randomElement(using: &generator) else { return }
      let damaged = Self.damage(bytes, &generator)
      do {
        let result = try ImageFile.decode(bytes: damaged, name: name, limits: limits)
        #expect(result.image.pixels.count == result.image.width * result.image.height * 3)
        decoded += 1
      } catch {
        #expect(!error.description.contains("\n"), "\(error)")
        refused += 1
      }
    }
    #expect(decoded > 0 && refused > 0)
  }

  @Test func damagedRecordings() throws {
    let seeds = try Self.fixtures(["audio", "video"], below: 60_000)
    try Self.withDamaged(seeds, iterations: 300) { path in
      let audio = try AudioFile.decode(path: path, maxSeconds: 5)
      #expect(audio.samples.count <= 80_000 && audio.samples.allSatisfy { $0.isFinite })
    }
  }

  @Test func damagedClips() throws {
    let seeds = try Self.fixtures(["video"], below: 60_000)
    let animations = try Self.fixtures(["images"], below: 60_000).filter {
      $0.0.contains("animated")
    }
    try Self.withDamaged(seeds + animations, iterations: 300) { path in
      let reader = try VideoReader(path: path, limits: ImageLimits(pixelCount: 4_000_000))
      let choices = reader.timeline.even(fps: 2, maxFrames: 4)
      #expect(try reader.frames(choices).count == choices.count)
      _ = try MediaProbe.kind(path: path)
    }
  }

  static func withDamaged(
    _ seeds: [(String, [UInt8])],
    iterations: Int,
    _ body: (String) throws -> Void
  ) throws {
    let folder = try Fixtures.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("damaged")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<setting("TROIKA_FUZZ_ITERATIONS", iterations) {
      guard let (_, bytes) = seeds.randomElement(using: &generator) else { return }
      try Data(damage(bytes, &generator)).write(to: url)
      do {
        try body(url.path)
      } catch let error as MediaError {
        #expect(!error.description.contains("\n"), "\(error)")
      }
    }
  }
}
