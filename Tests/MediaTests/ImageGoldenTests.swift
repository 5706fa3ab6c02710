import Foundation
import Media
import Testing

private struct Tables: Decodable {
  struct Resize: Decodable {
    var patchSize, poolingKernelSize, maxSoftTokens, height, width: Int
    var targetHeight, targetWidth, softTokens: Int?
    var error: String?
  }
  var resize: [Resize]
}

@Suite struct ImageGoldenTests {
  static let names = [
    "square.png", "wide.png", "tall.png", "onepixel.png", "gray.png", "alpha.png", "rotated.jpg",
    "large.png", "strip.png", "exact.png",
  ]

  static func decode(_ file: String) throws -> RGBImage {
    try ImageFile.decode(path: Fixtures.path("goldens/media/images/\(file)")).image
  }

  @Test func targetsEqualTheReference() throws {
    let tables = try Fixtures.json("goldens/tables.json", as: Tables.self)
    #expect(tables.resize.count == 150)
    for row in tables.resize {
      let geometry = try ImageGeometry(
        patchSize: row.patchSize,
        poolingKernel: row.poolingKernelSize,
        maxSoftTokens: row.maxSoftTokens
      )
      guard let height = row.targetHeight, let width = row.targetWidth else {
        #expect(throws: GeometryError.self) {
          try geometry.target(width: row.width, height: row.height)
        }
        continue
      }
      let target = try geometry.target(width: row.width, height: row.height)
      #expect(target == (width, height), "\(row)")
      #expect(
        geometry.softTokenCount(targetWidth: target.width, targetHeight: target.height)
          == row.softTokens
      )
    }
  }

  @Test(arguments: names) func uprightPixelsEqualTheReference(file: String) throws {
    let tensors = try Tensors("goldens/preprocess.safetensors")
    let name = String(file.prefix { $0 != "." })
    let golden = tensors.values("image.\(name).upright_rgb", as: UInt8.self)
    if golden.isEmpty { return }
    let image = try Self.decode(file)
    #expect([image.height, image.width, 3] == tensors.shape("image.\(name).upright_rgb"))
    #expect(image.pixels == golden)
  }

  @Test(arguments: names) func patchesEqualTheReference(file: String) throws {
    let tensors = try Tensors("goldens/preprocess.safetensors")
    let name = String(file.prefix { $0 != "." })
    let geometry = try ImageGeometry(patchSize: 8, poolingKernel: 3, maxSoftTokens: 70)
    let image = try Self.decode(file)
    let patches = try ImagePreprocessor(geometry: geometry).patches(image)
    var golden = tensors.values("image.\(name).patches_u8", as: UInt8.self)
    if let checksum = try PatchChecksums.of("image.\(name).patches_u8") {
      #expect(CRC32.of(patches.levels) == checksum)
      golden = patches.levels
    }
    #expect(patches.levels == golden)
    #expect(patches.positions == tensors.values("image.\(name).position_ids", as: Int32.self))
    let pillow = try ImagePreprocessor(geometry: geometry, backend: .pillow).patches(image)
    let indices = tensors.values("image.\(name).pil_delta_index", as: Int32.self)
    let deltas = tensors.values("image.\(name).pil_delta_value", as: Int8.self)
    for (index, delta) in zip(indices, deltas) {
      golden[Int(index)] = UInt8(Int(golden[Int(index)]) + Int(delta))
    }
    #expect(pillow.levels == golden)
  }

  @Test(arguments: names) func realSizePatchesEqualTheReference(file: String) throws {
    let tensors = try Tensors("goldens/preprocess_e2b.safetensors")
    let name = String(file.prefix { $0 != "." })
    let patches = try ImagePreprocessor().patches(Self.decode(file))
    let indices = tensors.values("image.\(name).patch_indices", as: Int32.self)
    let golden = tensors.values("image.\(name).patches_u8", as: UInt8.self)
    #expect(!indices.isEmpty)
    let picked = indices.flatMap { index in
      patches.levels[Int(index) * 768..<(Int(index) + 1) * 768]
    }
    #expect(picked == golden)
  }

  @Test func pixelValues() {
    let image = RGBImage(
      width: 48,
      height: 48,
      pixels: (0..<48 * 48 * 3).map { UInt8($0 % 256) }
    )
    let patches = Patches(image, geometry: .e2bImage)
    let still = patches.pixelValues(.image)
    let moving = patches.pixelValues(.video)
    for (index, level) in patches.levels.enumerated() {
      #expect(still[index] == Float(level) * (1 / 255 as Float))
      #expect(moving[index] == Float(level) / 255)
    }
  }
}
