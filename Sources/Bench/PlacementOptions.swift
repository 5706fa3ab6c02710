import Devices
import Foundation
import Graph
import Models
import Troika

/// The options that say which model runs and where, shared by every command that takes a placement.
///
/// What the command line says overrides what a placement file says.
struct PlacementOptions {
  static let valued: Set<String> = [
    "model", "placement", "engine", "chunks", "prefill", "shared-layers", "batches",
    "context", "threads", "gpu",
  ]
  static let switches: Set<String> = ["no-fallback"]

  static let help = """
      --model DIR         bundle or checkpoint folder in Hugging Face format
      --placement P       auto (default): what is predicted fastest here, cpu where the machine
                          is not measured (see calibrate); a unit for all: cpu, reference,
                          gpu, gpu:emulated, neuralEngine; mission; KEY=UNIT,… with keys
                          vision, audio, embed, chunks, chunkN, prefill, decode,
                          prefill.chunkN, head, or a glob over operations; or a file:
                          FILE.json, or any other path
      --engine K=V,…      switches of the neural engine: accumulate=f16|f32, flush=on|off,
                          program-bytes=N|none, layers=N|none
      --gpu NAME|INDEX    the Vulkan device (the best there is; see devices)
      --no-fallback       a program that its unit refuses or fails is an error
      --chunks N,…        exclusive ends of the decoder's programs
      --prefill N,…       token counts of prefill programs (64,512)
      --shared-layers R   last (default): layers without caches of their own run for the last
                          position; all: for the whole batch
      --batches R         smallest (default): fewest rows, padding included; fewest: launches
      --context N         positions of the caches (8192 at most by default)
      --threads N         worker threads of the cpu unit (all processors)
    """

  let arguments: Arguments
  /// The placement with what its file says.
  let file: PlacementFile
  /// Whether the placement is left to this machine's profile.
  let isAutomatic: Bool

  /// Reads the placement, from a file where the value names one.
  ///
  /// - Parameters:
  ///   - arguments: the command line.
  ///   - given: the placement, where it is no option.
  /// - Throws: where it cannot be read.
  init(_ arguments: Arguments, placement given: String? = nil) throws {
    self.arguments = arguments
    let text = given ?? arguments["placement"] ?? "auto"
    isAutomatic = text == "auto"
    file =
      Self.isFile(text)
      ? try PlacementFile(path: text) : PlacementFile(try Placement(parsing: text))
  }

  /// Whether a placement is given as a file: by its extension, or because one is there and the
  /// text is no unit and no inline form.
  static func isFile(_ text: String) -> Bool {
    if text.lowercased().hasSuffix(".json") { return true }
    var isFolder: ObjCBool = false
    return (try? Placement(parsing: text)) == nil
      && FileManager.default.fileExists(atPath: text, isDirectory: &isFolder) && !isFolder.boolValue
  }

  /// The model's folder.
  func path() throws -> String { try arguments.required("model") }

  /// How a model is loaded; cuts are checked against it.
  ///
  /// - Parameter text: opens the model; called when all that needs none has been read.
  /// - Returns: how it is loaded.
  /// - Throws: where an option cannot be read or does not fit the model.
  func load(_ text: () throws -> TextConfiguration) throws -> Troika.LoadOptions {
    var options = try loadWithoutCuts()
    let text = try text()
    options.layout =
      try Options.layout(arguments, text) ?? file.layout(layerCount: text.layers.count)
    return options
  }

  /// The model's folder, opened, and how it is loaded.
  func open() throws -> (folder: ModelFolder, options: Troika.LoadOptions) {
    let path = try path()
    var opened: ModelFolder?
    let options = try load {
      let folder = try ModelFolder(path: path)
      opened = folder
      return folder.model.configuration.text
    }
    return (try opened ?? ModelFolder(path: path), options)
  }

  /// The same with the placement that `auto` stands for, where that is asked for.
  func settled(
    _ options: Troika.LoadOptions,
    _ planned: PlannedModel
  ) -> (options: Troika.LoadOptions, automatic: AutoPlacement?) {
    guard isAutomatic else { return (options, nil) }
    var options = options
    let automatic = AutoPlacement(planned, options)
    options.placement = automatic.placement
    return (options, automatic)
  }

  /// Does what checks the placement against a model; errors about it name its file and key.
  func locating<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw file.located(error) }
  }

  /// Loads the model.
  ///
  /// - Parameters:
  ///   - faults: what is made to fail.
  ///   - overlaps: whether media are encoded while tokens in front of them are run.
  ///   - standIn: the unit that takes the place of `gpu`; nil for none.
  /// - Returns: the model, and what `auto` stood for where that was asked for.
  /// - Throws: where it cannot be loaded.
  func loadModel(
    faults: FaultPlan = FaultPlan(),
    overlaps: Bool = true,
    gpuStandIn standIn: UnitID? = nil
  ) async throws -> (troika: Troika, automatic: AutoPlacement?) {
    let (folder, opened) = try open()
    var (options, automatic) = settled(opened, PlannedModel(folder))
    options.faults = faults
    options.overlaps = overlaps
    if let standIn { options.placement = options.placement.replacing(.gpu, with: standIn) }
    if options.placement.units.contains(.gpu) { Options.announce(options.gpu) }
    do {
      return (try await Troika.load(folder: folder, options: options), automatic)
    } catch {
      throw file.located(error)
    }
  }

  private func loadWithoutCuts() throws -> Troika.LoadOptions {
    var engine = file.engine
    if let text = arguments["engine"] { engine = try EngineOptions(parsing: text).over(engine) }
    let shared = try arguments.choice("shared-layers", TextDecoder.SharedLayers.self)
    return Troika.LoadOptions(
      placement: file.placement,
      context: try arguments.integer("context", in: 2...(1 << 24)),
      prefillShapes: try Options.sizes(arguments, "prefill") ?? file.prefill,
      sharedLayers: shared ?? file.sharedLayers ?? .last,
      batches: try arguments.choice("batches", BatchChoice.self) ?? file.batches ?? .smallest,
      engine: engine,
      threads: try Options.threads(arguments),
      gpu: Options.gpu(arguments),
      allowsFallback: arguments.has("no-fallback") ? false : file.allowsFallback ?? true
    )
  }
}
