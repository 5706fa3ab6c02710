import Foundation
import Graph
import Models
import Troika

extension Experiment {
  /// Reads an experiment; paths in it start at its folder.
  ///
  /// - Throws: `FileError`, `JSONError` or `ExperimentError` naming the file and the key.
  init(path: String) throws {
    let node = try JSONNode(file: path)
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    subject = node.subject
    document = node.value
    name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    let version = try node.member("experiment")
    guard version.value == .integer(Self.version) else {
      throw version.mismatch("\(Self.version)", came: version.value.text())
    }
    let reader = ExperimentReader(folder: folder)
    for key in try node.object().keys where !["experiment", "about", "weights"].contains(key) {
      try reader.read(key, try node.member(key), into: &self)
    }
    try reader.readWeights(node, into: &self)
    if let about = try node.optional("about") { _ = try about.string() }
    try checkAxes(node)
  }

  private func checkAxes(_ node: JSONNode) throws {
    let needed = [
      ("models", models.isEmpty), ("placements", placements.isEmpty),
      ("requests", requests.isEmpty),
    ]
    for (key, isEmpty) in needed where isEmpty {
      throw ExperimentError("\(subject): field '\(key)': expected at least one, came none")
    }
    guard isMeasured || !profiles.isEmpty else {
      throw ExperimentError(
        "\(subject): field 'profiles': expected at least one, or \"measure\": true, came neither"
      )
    }
    guard isMeasured else { return }
    if let model = models.first(where: { $0.folder == nil }) {
      throw ExperimentError(
        "\(subject): field 'measure': expected models with files, came '\(model.name)'"
      )
    }
    if let request = requests.first(where: { $0.prompt == nil }) {
      throw ExperimentError(
        "\(subject): field 'measure': expected requests with a prompt, came '\(request.name)'"
      )
    }
  }
}

/// Reads the keys of an experiment.
struct ExperimentReader {
  /// Where paths start.
  let folder: String

  private static let keys =
    "experiment, about, name, seed, models, weights, placements, requests, prefill, contexts, "
    + "chunks, profiles, measure, repetitions, runs, threads or gpu"

  func read(_ key: String, _ node: JSONNode, into experiment: inout Experiment) throws {
    switch key {
    case "name": experiment.name = try node.string()
    case "seed": experiment.seed = try node.count(0...Int.max)
    case "models": experiment.models = try filled(node).map(model)
    case "placements": experiment.placements = try filled(node).map(placement)
    case "requests": experiment.requests = try requests(node)
    case "prefill": experiment.prefill = try filled(node).map { try $0.rising() }
    case "chunks": experiment.chunks = try filled(node).map { try $0.rising() }
    case "contexts": experiment.contexts = try filled(node).map { try $0.count(2...(1 << 24)) }
    case "profiles": experiment.profiles = try node.elements().map(profile)
    case "measure": experiment.isMeasured = try node.bool()
    case "repetitions": experiment.repetitions = try node.count(1...10_000)
    case "runs": experiment.runs = try node.count(1...10_000)
    case "threads": experiment.threads = try node.count(1...1024)
    case "gpu": experiment.gpu = try node.string()
    default:
      throw ExperimentError("\(node.subject): expected \(Self.keys), came '\(key)'")
    }
  }

  /// Each synthetic model once in each of the formats.
  func readWeights(_ node: JSONNode, into experiment: inout Experiment) throws {
    var formats = [WeightFormat.int4]
    if let given = try node.optional("weights") {
      if let model = experiment.models.first(where: { $0.folder != nil }) {
        throw given.mismatch("it with synthetic models only", came: "'\(model.name)'")
      }
      formats = try filled(given).map { try $0.choice(WeightFormat.self) }
    }
    experiment.models = experiment.models.flatMap { model in
      guard model.folder == nil else { return [model] }
      return formats.map { format in
        var model = model
        model.weights = format
        return model
      }
    }
  }

  private func filled(_ node: JSONNode) throws -> [JSONNode] {
    let elements = try node.elements()
    guard !elements.isEmpty else { throw node.mismatch("at least one", came: "none") }
    return elements
  }

  /// A path that starts at the experiment's folder.
  func located(_ path: String) -> String {
    path.hasPrefix("/") ? path : folder + "/" + path
  }

  private func model(_ node: JSONNode) throws -> Experiment.Model {
    for key in try node.object().keys where !["synthetic", "folder"].contains(key) {
      throw node.mismatch("synthetic or folder", came: "'\(key)'")
    }
    if let size = try node.optional("synthetic") {
      guard try node.optional("folder") == nil else {
        throw node.mismatch("synthetic or folder", came: "both")
      }
      let known = try size.choice(SyntheticModel.Size.self)
      return Experiment.Model(synthetic: known, name: known.rawValue)
    }
    let path = try node.string("folder")
    return Experiment.Model(folder: located(path), name: path)
  }

  private func profile(_ node: JSONNode) throws -> (name: String, profile: DeviceProfile) {
    let name = try node.string()
    guard !KnownProfiles.names.contains(name), name != "host" else {
      return (name, try KnownProfiles.profile(name))
    }
    let path = located(name)
    guard FileManager.default.fileExists(atPath: path) else {
      let names = KnownProfiles.names.joined(separator: ", ")
      throw node.mismatch("host, \(names) or a file", came: "'\(name)'")
    }
    return (name, try KnownProfiles.profile(path))
  }

  private func requests(_ node: JSONNode) throws -> [Experiment.AskedRequest] {
    let requests = try filled(node).map(request)
    for (index, request) in requests.enumerated() {
      guard !requests[..<index].contains(where: { $0.name == request.name }) else {
        throw node.mismatch("requests with names of their own", came: "'\(request.name)' again")
      }
    }
    return requests
  }

  private func request(_ node: JSONNode) throws -> Experiment.AskedRequest {
    var request = Experiment.AskedRequest(name: "")
    var lengths = JSONObject()
    var video = VideoOptions()
    if let frames = try node.optional("maxFrames") { video.maxFrames = try frames.count(1...4096) }
    for member in try node.object().members {
      let value = try node.member(member.key)
      switch member.key {
      case "name": request.name = try value.string()
      case "prompt": request.prompt = try value.string()
      case "maxFrames": break
      case "image", "video", "audio":
        for file in try value.elements() {
          let url = URL(fileURLWithPath: located(try file.string()))
          switch member.key {
          case "image": request.media.append(.image(url))
          case "video": request.media.append(.video(url, video))
          default: request.media.append(.audio(url))
          }
        }
      default: lengths[member.key] = member.value
      }
    }
    let rest = JSONNode(.object(lengths), subject: node.subject, path: node.path)
    request.lengths = try RequestFile(rest)
    let odd = lengths.keys.first { $0 != "maxTokens" }
    if request.prompt != nil, let odd {
      throw node.mismatch("lengths or a prompt", came: "a prompt and '\(odd)'")
    }
    guard request.prompt != nil || request.media.isEmpty else {
      throw node.mismatch("media beside a prompt", came: "media alone")
    }
    if request.name.isEmpty { request.name = JSONValue.object(node.value.object ?? .init()).text() }
    return request
  }
}

extension JSONNode {
  /// This value as a whole number in a range.
  func count(_ range: ClosedRange<Int>) throws(JSONError) -> Int {
    let value = try integer()
    guard range.contains(value) else {
      throw mismatch("\(range.lowerBound) to \(range.upperBound)", came: "\(value)")
    }
    return value
  }

  /// This value as rising numbers above 0.
  func rising() throws(JSONError) -> [Int] {
    var numbers: [Int] = []
    for element in try elements() { numbers.append(try element.count(1...(1 << 20))) }
    guard !numbers.isEmpty, zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw mismatch("rising numbers", came: "\(numbers)")
    }
    return numbers
  }

  /// This value as a word that names a case.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _: Choice.Type
  ) throws(JSONError) -> Choice where Choice.RawValue == String {
    let name = try string()
    guard let choice = Choice(rawValue: name) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw mismatch("one of \(names)", came: "'\(name)'")
    }
    return choice
  }
}
