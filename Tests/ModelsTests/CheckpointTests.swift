import Foundation
import Graph
import Testing

@testable import Models

@Suite struct CheckpointTests {
  private static let one = TextFixtures.safetensors(
    header:
      #"{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"#
      + #""s":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}"#
      + "   ",
    data: [0x80, 0x3F, 0x20, 0xC0, 0, 0, 0xC0, 0x7F]
  )

  @Test func readsNamesTypesAndBytes() throws {
    try TextFixtures.withFolder(["model.safetensors": Self.one]) { folder in
      let checkpoint = try Checkpoint(folder: folder)
      #expect(checkpoint.tensorNames == ["a", "s"])
      #expect(checkpoint.fileNames == ["model.safetensors"])
      #expect(checkpoint.totalBytes == Self.one.count)
      #expect(checkpoint.type(of: "a") == TensorType(.bf16, [2]))
      #expect(try checkpoint.floats(of: "a") == [1, -2.5])
      #expect(try Array(checkpoint.bytes(of: "a")) == [0x80, 0x3F, 0x20, 0xC0])
      #expect(checkpoint.type(of: "missing") == nil)
      #expect(
        message { _ = try checkpoint.scalar(of: "s") }
          == "weights: tensor 's': expected a number, came NaN"
      )
      #expect(
        message { _ = try checkpoint.scalar(of: "a") }
          == "weights: tensor 'a': expected 1 element, came 2"
      )
      #expect(message { _ = try checkpoint.bytes(of: "b") }?.contains("came nothing") == true)
    }
  }

  @Test func expandsHalves() throws {
    let values: [UInt16] = [0x3C00, 0xC000, 0x0001, 0x8000, 0x7BFF, 0x7C00, 0x03FF]
    let file = TextFixtures.safetensors(
      header: #"{"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]}}"#,
      data: values.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    )
    try TextFixtures.withFolder(["model.safetensors": file]) { folder in
      let floats = try Checkpoint(folder: folder).floats(of: "h")
      #expect(floats == [1, -2, 0x1p-24, -0.0, 65504, .infinity, 1023 * 0x1p-24])
      #expect(floats[3].sign == .minus)
    }
  }

  @Test func listsButRefusesOtherFormats() throws {
    let file = TextFixtures.safetensors(
      header: #"{"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"#
        + #""e":{"dtype":"F4","shape":[0,9],"data_offsets":[8,8]}}"#,
      data: Array(0..<8)
    )
    try TextFixtures.withFolder(["model.safetensors": file]) { folder in
      let checkpoint = try Checkpoint(folder: folder)
      #expect(checkpoint.tensorNames == ["e", "i"])
      #expect(checkpoint.entry("i")?.dtype == .i64)
      #expect(checkpoint.type(of: "i") == nil)
      let line = "model.safetensors: tensor 'i': expected F32, F16, BF16 or I32, came I64"
      #expect(message { _ = try checkpoint.bytes(of: "i") } == line)
      #expect(message { _ = try checkpoint.requiredType(of: "i") } == line)
      let file = try SafetensorsFile(folder + "/model.safetensors")
      try withExtendedLifetime(file) {
        let raw = try Array(file.rawBytes(of: "i"))
        #expect(raw == Array(0..<8))
      }
    }
  }

  @Test func refusesUnalignedDataWhenAsked() throws {
    let file = TextFixtures.safetensors(
      header: #"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
      data: [0, 0, 0x80, 0x3F],
      isPadded: false
    )
    try TextFixtures.withFolder(["model.safetensors": file]) { folder in
      let checkpoint = try Checkpoint(folder: folder)
      #expect(message { _ = try checkpoint.bytes(of: "a") }?.contains("aligned to 4") == true)
    }
  }

  @Test(arguments: [
    ("model.language_model.norm.weight", "model.language_model.norm.weight"),
    ("language_model.norm.weight", "model.language_model.norm.weight"),
    ("language_model.model.norm.weight", "model.language_model.norm.weight"),
    (
      "vision_tower.patch_embedder.input_proj.weight",
      "model.vision_tower.patch_embedder.input_proj.weight"
    ),
    ("embed_audio.embedding_projection.weight", "model.embed_audio.embedding_projection.weight"),
    ("lm_head.weight", "lm_head.weight"),
  ])
  func acceptsOlderPrefixes(name: String, canonical: String) throws {
    let file = TextFixtures.safetensors(
      header: "{\"\(name)\":{\"dtype\":\"BF16\",\"shape\":[0],\"data_offsets\":[0,0]}}"
    )
    try TextFixtures.withFolder(["model.safetensors": file]) { folder in
      let checkpoint = try Checkpoint(folder: folder)
      #expect(checkpoint.tensorNames == [canonical])
      #expect(checkpoint.type(of: canonical) == TensorType(.bf16, [0]))
      #expect(try checkpoint.bytes(of: name).isEmpty)
    }
  }

  private static func shard(_ name: String) -> [UInt8] {
    TextFixtures.safetensors(
      header: "{\"\(name)\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}} ",
      data: [1, 2]
    )
  }

  private static func index(_ map: String) -> [UInt8] {
    Array("{\"metadata\":{\"total_size\":4},\"weight_map\":{\(map)}}".utf8)
  }

  @Test func readsShards() throws {
    let index = "model.safetensors.index.json"
    var files = ["x.safetensors": Self.shard("a"), "y.safetensors": Self.shard("b")]
    try TextFixtures.withFolder(files) { folder in
      let names = try Checkpoint(folder: folder).fileNames
      #expect(names == ["x.safetensors", "y.safetensors"])
    }
    files[index] = Self.index(#""b":"y.safetensors""#)
    try TextFixtures.withFolder(files) { folder in
      let names = try Checkpoint(folder: folder).tensorNames
      #expect(names == ["b"])
    }
    let broken = [
      #""b":"z.safetensors""#: "expected shard 'z.safetensors' beside it, came nothing",
      #""c":"y.safetensors""#: "tensor 'c': expected to be in 'y.safetensors', came nothing",
      #""b":"../y.safetensors""#: "field 'weight_map.b': expected a file name",
      #""b":3"#: "field 'weight_map.b': expected string, came integer",
    ]
    for (map, line) in broken {
      files[index] = Self.index(map)
      try TextFixtures.withFolder(files) { folder in
        let got = message { _ = try Checkpoint(folder: folder) } ?? ""
        #expect(got.hasPrefix(index + ": ") && got.contains(line), "\(got)")
      }
    }
    try TextFixtures.withFolder([
      "x.safetensors": Self.shard("a"), "y.safetensors": Self.shard("a"),
    ]) {
      folder in
      #expect(
        message { _ = try Checkpoint(folder: folder) }
          == "y.safetensors: tensor 'a': expected one, came another in x.safetensors"
      )
    }
  }

  @Test func refusesMissingFilesAndFolders() throws {
    #expect(
      message { _ = try Checkpoint(folder: "/nowhere/at/all") }
        == "/nowhere/at/all: expected a readable file or folder, came 'No such file or directory'"
    )
    try TextFixtures.withFolder(["config.json": [1]]) { folder in
      #expect(message { _ = try Checkpoint(folder: folder) }?.hasSuffix("came none") == true)
      #expect(
        message { _ = try Checkpoint(folder: folder + "/config.json") }?
          .hasSuffix("expected a folder, came a file") == true
      )
      #expect(
        message { _ = try SafetensorsFile(folder) }?
          .hasSuffix("expected a file, came a folder") == true
      )
    }
  }
}
