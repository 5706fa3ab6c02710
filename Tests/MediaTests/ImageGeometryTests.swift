import Media
import Testing

@Suite struct ImageGeometryTests {
  @Test func everySizeFitsOrIsRefused() throws {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<20_000 {
      let geometry = try ImageGeometry(
        patchSize: [8, 14, 16].randomElement(using: &generator) ?? 16,
        poolingKernel: Int.random(in: 1...4, using: &generator),
        maxSoftTokens: [70, 140, 280, 560, 1120].randomElement(using: &generator) ?? 280
      )
      let width = 1 << Int.random(in: 0...16, using: &generator)
      let height = 1 << Int.random(in: 0...16, using: &generator)
      let size = (
        Int.random(in: 1...width, using: &generator), Int.random(in: 1...height, using: &generator)
      )
      guard let target = try? geometry.target(width: size.0, height: size.1) else { continue }
      let side = geometry.cellSide
      #expect(target.width >= side && target.height >= side, "\(size)")
      #expect(target.width.isMultiple(of: side) && target.height.isMultiple(of: side))
      let tokens = geometry.softTokenCount(targetWidth: target.width, targetHeight: target.height)
      #expect(tokens >= 1 && tokens <= geometry.maxSoftTokens)
      if size.0 == size.1 { #expect(target.width == target.height) }
    }
  }

  @Test func ordinarySizesAreNeverRefused() throws {
    var generator = SeededGenerator(seed: 4)
    for _ in 0..<20_000 {
      let long = Int.random(in: 1...20_000, using: &generator)
      let short = Int.random(in: max(1, long / 200)...long, using: &generator)
      _ = try ImageGeometry.e2bImage.target(width: long, height: short)
      _ = try ImageGeometry.e2bImage.target(width: short, height: long)
    }
  }

  @Test func errorsNameTheNumbers() {
    #expect(throws: GeometryError.noPixels(width: 0, height: 5)) {
      try ImageGeometry.e2bImage.target(width: 0, height: 5)
    }
    #expect(throws: GeometryError.badParameter(name: "patch_size", value: 0)) {
      try ImageGeometry(patchSize: 0, poolingKernel: 3, maxSoftTokens: 280)
    }
  }

  @Test func resizingKeepsFlatPicturesFlat() {
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      let (width, height) = (
        Int.random(in: 1...90, using: &generator), Int.random(in: 1...90, using: &generator)
      )
      let level = UInt8.random(in: 0...255, using: &generator)
      let image = RGBImage(
        width: width,
        height: height,
        pixels: [UInt8](repeating: level, count: width * height * 3)
      )
      for backend in ResizeBackend.allCases {
        let result = Resize.bicubic(
          image,
          width: Int.random(in: 1...90, using: &generator),
          height: Int.random(in: 1...90, using: &generator),
          backend: backend
        )
        #expect(result.pixels.allSatisfy { $0 == level })
      }
    }
  }
}
