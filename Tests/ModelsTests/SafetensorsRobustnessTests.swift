import Foundation
import Testing

@testable import Models

@Suite struct SafetensorsRobustnessTests {
  private func line(_ bytes: [UInt8]) throws -> String? {
    try TextFixtures.withFolder(["f.safetensors": bytes]) { folder in
      message { _ = try SafetensorsFile(folder + "/f.safetensors") }
    }
  }

  @Test(arguments: [
    (#"[]"#, "f.safetensors: expected a header that is a JSON object, came byte 91"),
    (#" {}"#, "f.safetensors: expected a header that is a JSON object, came byte 32"),
    (#"{"a":1}"#, "f.safetensors: field 'a': expected object, came integer"),
    (#"{"a":{}}"#, "f.safetensors: field 'a.dtype': expected a value, came nothing"),
    (#"{"__metadata__":3}"#, "f.safetensors: field '__metadata__': expected object, came integer"),
    (
      #"{"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}}"#,
      "f.safetensors: tensor 'a': expected a known dtype, came 'F31'"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
      "f.safetensors: tensor 'a': expected extents of at least 0, came -1"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}"#,
      "f.safetensors: field 'a.shape[0]': expected integer, came number"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#,
      "f.safetensors: tensor 'a': expected a shape below 2^63 bits, came [4294967296x4294967296]"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#,
      "f.safetensors: tensor 'a': expected 8 bytes for F32[2], came 4"
    ),
    (
      #"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}"#,
      "f.safetensors: tensor 'a': expected whole bytes, came 12 bits"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}"#,
      "f.safetensors: tensor 'a': expected two data offsets, came 1"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
      "f.safetensors: tensor 'a': expected offsets within 4 bytes of data, came 4..<8"
    ),
    (
      #"{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}"#,
      "f.safetensors: tensor 'a': expected offsets within 4 bytes of data, came -4..<0"
    ),
    (
      #"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"#
        + #""b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}"#,
      "f.safetensors: tensor 'b': expected data at offset 3, came 2, an overlap"
    ),
    (
      #"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"#
        + #""b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}"#,
      "f.safetensors: tensor 'b': expected data at offset 1, came 2, a hole"
    ),
    (#"{}"#, "f.safetensors: expected 0 bytes of data, came 4"),
    (
      #"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}}"#,
      "f.safetensors: expected distinct keys, came 'a' again at byte 54"
    ),
  ])
  func refuses(header: String, expected: String) throws {
    #expect(
      try line(TextFixtures.safetensors(header: header, data: [0, 0, 0, 0])) == expected
    )
  }

  @Test func refusesTruncatedAndHugeHeaders() throws {
    #expect(try line([]) == "f.safetensors: expected 8 bytes of header length, came 0 bytes")
    #expect(try line([1, 0]) == "f.safetensors: expected 8 bytes of header length, came 2 bytes")
    #expect(
      try line(TextFixtures.safetensors(header: "{}", length: 1 << 60))
        == "f.safetensors: expected a header of at most 100000000 bytes, came 1152921504606846976"
    )
    #expect(
      try line(TextFixtures.safetensors(header: "{}", length: 3))
        == "f.safetensors: expected a header of 3 bytes, came a file of 10 bytes"
    )
    #expect(
      try line(TextFixtures.safetensors(header: "", length: 0))
        == "f.safetensors: expected a header that is a JSON object, came an empty header"
    )
  }

  @Test func survivesMutations() throws {
    let header =
      #"{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"#
      + #""b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},"#
      + #""c":{"dtype":"I64","shape":[1,0],"data_offsets":[16,16]}}"#
    let whole = TextFixtures.safetensors(header: header, data: Array(repeating: 1, count: 16))
    var numbers = FuzzNumbers(state: 11)
    for iteration in 0..<TextFixtures.fuzzIterations {
      var bytes: [UInt8]
      if iteration % 2 == 0 {
        bytes = numbers.mutate(whole)
      } else {
        let text = String(decoding: numbers.mutate(Array(header.utf8)), as: UTF8.self)
        bytes = TextFixtures.safetensors(header: text, data: Array(repeating: 1, count: 16))
      }
      bytes.withUnsafeBytes { raw in
        guard let entries = try? SafetensorsHeader.entries(of: raw, file: "f").entries else {
          return
        }
        for entry in entries {
          #expect(entry.range.lowerBound >= 8 && entry.range.upperBound <= raw.count)
        }
      }
    }
  }
}
