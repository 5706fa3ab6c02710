import Foundation
import Media
import Testing

struct PillowFacts: Decodable {
  var width, height: Int
  var mode: String
  var crc32: UInt32
}

@Suite struct ImageFileTests {
  /// Files whose values follow another rule than Pillow's: HEIF decoders differ by few levels,
  /// 16 bits are scaled by 257, profiles are converted, damage is refused or shown.
  static let otherRules: Set<String> = [
    "heic-rgb8.heif", "heic-multi.heic", "hopper.avif", "rgb16.tiff", "rgb16.png",
    "gray16-trns.png", "extreme-tall-6x3000.png", "adobe-rgb-icc.jpg", "truncated.jpg",
    "heic-truncated.heic",
  ]
  static let refused: Set<String> = [
    "broken.png", "heic-truncated.heic", "bomb.gif", "text-named.png", "empty.jpg", "picture.svg",
  ]

  @Test func valuesEqualPillow() throws {
    let facts = try Fixtures.json("pillow.json", as: [String: PillowFacts].self)
    var compared = 0
    for file in try Fixtures.files("images") {
      guard let expected = facts[file], !Self.refused.contains(file) else { continue }
      let decoded = try ImageFile.decode(path: Fixtures.path("images/\(file)"))
      #expect(decoded.image.width == expected.width, "\(file)")
      #expect(decoded.image.height == expected.height, "\(file)")
      if Self.otherRules.contains(file) { continue }
      #expect(CRC32.of(decoded.image.pixels) == expected.crc32, "\(file)")
      compared += 1
    }
    #expect(compared > 30)
  }

  @Test(arguments: refused) func brokenFilesAreRefused(file: String) throws {
    let path = Fixtures.path("images/\(file)")
    let error = try #require(throws: MediaError.self) { try ImageFile.decode(path: path) }
    #expect(error.description.hasPrefix("\(path): expected"))
    #expect(!error.description.contains("\n"))
  }
}
