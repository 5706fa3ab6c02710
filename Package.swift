// swift-tools-version: 6.2
// The manifest is the architecture: every arrow between modules stands here and nowhere else.
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// C code is optimised in every configuration: a debug build still has usable kernels.
let optimised: [CSetting] = [.define("_GNU_SOURCE")]

let package = Package(
  name: "troika",
  products: [
    .library(name: "Troika", targets: ["Troika"]),
    .executable(name: "troika", targets: ["Bench"]),
  ],
  targets: [
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
    .systemLibrary(
      name: "CFFmpeg", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libswscale-dev", "libswresample-dev"])]),
    .target(name: "CKernels", cSettings: optimised, linkerSettings: [.linkedLibrary("m")]),
    .target(name: "CGPU", cSettings: optimised, linkerSettings: [.linkedLibrary("dl")]),
    .target(
      name: "CMedia", dependencies: ["CVips", "CFFmpeg"], cSettings: optimised,
      linkerSettings: [
        .linkedLibrary("avcodec"), .linkedLibrary("avutil"), .linkedLibrary("swscale"),
        .linkedLibrary("swresample"), .linkedLibrary("m"),
      ]),

    .target(name: "Graph", swiftSettings: strict),
    .target(
      name: "Devices", dependencies: ["Graph", "CKernels", "CGPU"],
      exclude: ["GPU/Shaders"], swiftSettings: strict, plugins: ["EmbedShaders"]),
    .plugin(name: "EmbedShaders", capability: .buildTool()),
    .target(name: "Models", dependencies: ["Graph", "CCrypto"], swiftSettings: strict),
    .target(name: "Media", dependencies: ["CMedia"], swiftSettings: strict),
    .target(
      name: "Troika", dependencies: ["Graph", "Devices", "Models", "Media"],
      resources: [
        .embedInCode("Profiles/iphone-17-pro.json"), .embedInCode("Profiles/mac-studio.json"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "Bench", dependencies: ["Troika", "Graph", "Devices", "Models", "Media"],
      resources: [
        .embedInCode("BenchSuite.json"), .embedInCode("Report/report.css"),
        .embedInCode("Report/report.js"),
      ],
      swiftSettings: strict),

    .target(name: "TestSupport", dependencies: ["Graph"], path: "Tests/TestSupport"),
    .testTarget(name: "GraphTests", dependencies: ["Graph", "TestSupport"]),
    .testTarget(name: "DevicesTests", dependencies: ["Devices", "CGPU", "Graph", "TestSupport"]),
    .testTarget(
      name: "ModelsTests", dependencies: ["Models", "Graph", "TestSupport"],
      resources: [.copy("Fixtures")]),
    .testTarget(
      name: "MediaTests", dependencies: ["Media", "TestSupport"], resources: [.copy("Fixtures")],
      swiftSettings: strict),
    .testTarget(
      name: "TroikaTests",
      dependencies: ["Troika", "Graph", "Devices", "Models", "Media", "TestSupport"]),
    .testTarget(name: "BenchTests", dependencies: ["TestSupport"]),
    .testTarget(name: "ArchitectureTests", dependencies: ["TestSupport"]),
  ]
)
