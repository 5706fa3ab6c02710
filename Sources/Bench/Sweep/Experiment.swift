import Foundation
import Graph
import Models
import Troika

/// A declared grid: every combination of its axes is a row of results, or one for each repetition.
struct Experiment {
  /// A model of the grid.
  struct Model {
    /// Shapes without files; nil for a folder.
    var synthetic: SyntheticModel.Size?
    /// How those are stored.
    var weights: WeightFormat?
    /// The folder.
    var folder: String?
    /// What rows call it: the size, or the folder as the experiment spells it.
    var name: String
  }

  /// A request of the grid: lengths alone, or a prompt with media.
  struct AskedRequest {
    /// What rows call it.
    var name: String
    /// The lengths; those beside `maxTokens` are unused where there is a prompt.
    var lengths = RequestFile()
    /// The prompt; nil where there are only lengths.
    var prompt: String?
    /// The prompt's media.
    var media: [MediaSource] = []

    /// The request as it is measured; nil where there are only lengths.
    func request() throws -> Request? {
      guard let prompt else { return nil }
      var options = GenerationOptions(maxTokens: lengths.maxTokens)
      options.ignoresStopTokens = true
      return try Request(prompt: prompt, media: media, system: nil, options: options)
    }
  }

  /// The version of experiment files.
  static let version = 1

  /// The file, as error messages name it.
  var subject = ""
  /// What it is called.
  var name = ""
  /// What the order and random placements come from.
  var seed = 1
  /// The models.
  var models: [Model] = []
  /// The requests.
  var requests: [AskedRequest] = []
  /// The placements and what makes some.
  var placements: [PlacementSource] = []
  /// Token counts of prefill programs; nil for the model's or the placement's.
  var prefill: [[Int]?] = [nil]
  /// Positions of the caches; nil for the model's.
  var contexts: [Int?] = [nil]
  /// Exclusive ends of the decoder's programs; nil for the model's or the placement's.
  var chunks: [[Int]?] = [nil]
  /// Profiles to simulate, with the name that rows give them.
  var profiles: [(name: String, profile: DeviceProfile)] = []
  /// Whether the grid is also measured here.
  var isMeasured = false
  /// Rows of each measured combination.
  var repetitions = 1
  /// Measured runs within a row.
  var runs = 5
  /// Worker threads of the processor unit; nil for all processors.
  var threads: Int?
  /// The Vulkan device; nil for the best.
  var gpu: String?
  /// The file's document.
  var document = JSONValue.null
}

/// A placement of an experiment, with what its file says beside it.
struct NamedPlacement {
  /// What rows call it.
  let name: String
  /// Where each part runs.
  let placement: Placement
  /// Options of its file.
  let file: PlacementFile
}

/// An experiment that cannot be run.
struct ExperimentError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Experiment {
  /// Does what checks a part of the grid; errors about it name the experiment and the part.
  func locating<Result>(_ part: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as ExperimentError { throw error } catch {
      throw ExperimentError("\(subject): \(part): \(error)")
    }
  }
}
