import Foundation
import PackagePlugin

/// Compiles the shaders of a target to SPIR-V and carries them in a generated source file.
@main struct EmbedShaders: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    let folder = target.directoryURL.appendingPathComponent("GPU/Shaders")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let shaders = names.filter { $0.hasSuffix(".comp") || $0.hasSuffix(".glsl") }
    let matrices = folder.appendingPathComponent("matrix")
    let carried = try FileManager.default.contentsOfDirectory(atPath: matrices.path).sorted()
      .filter { $0.hasSuffix(".spv") }
    let script = context.package.directoryURL.appendingPathComponent("Scripts/embed-shaders")
    let output = context.pluginWorkDirectoryURL.appendingPathComponent("ShaderCode.swift")
    guard let compiler = Self.find("glslangValidator") else {
      Diagnostics.error(
        "glslangValidator: expected on PATH, found none (apt install glslang-tools)"
      )
      return []
    }
    return [
      .buildCommand(
        displayName: "Compiling shaders",
        executable: URL(fileURLWithPath: "/bin/sh"),
        arguments: [script.path, compiler, folder.path, output.path],
        inputFiles: shaders.map { folder.appendingPathComponent($0) }
          + carried.map { matrices.appendingPathComponent($0) } + [script],
        outputFiles: [output]
      )
    ]
  }

  private static func find(_ name: String) -> String? {
    let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return folders.map { "\($0)/\(name)" }.first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  }
}
