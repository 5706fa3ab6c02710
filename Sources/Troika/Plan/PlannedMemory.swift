import Devices
import Foundation

/// What a request takes of memory at most, by what it is for: the plans of all programs run so far with
/// everything of the process around them.
public struct PlannedMemory: Hashable, Sendable {
  /// One use of memory.
  public struct Item: Hashable, Sendable {
    /// What for.
    public let name: String
    /// Bytes of it.
    public let byteCount: Int
  }

  /// The items.
  public private(set) var items: [Item] = []

  /// No memory.
  public init() {}

  /// All items together.
  public var byteCount: Int { items.reduce(0) { $0 + $1.byteCount } }

  /// Adds an item.
  mutating func add(_ name: String, _ byteCount: Int) {
    items.append(Item(name: name, byteCount: byteCount))
  }
}

extension PlannedMemory {
  /// Adds what the process takes beside programs and values.
  ///
  /// - Parameters:
  ///   - units: how many units have threads.
  ///   - threads: worker threads of each.
  ///   - media: what the request's media take.
  mutating func addProcess(units: Int, threads: Int, _ media: MediaMemory) {
    let processors = ProcessInfo.processInfo.activeProcessorCount
    // A unit has workers, a queue and a thread of the request; the host has one, and decoders take two
    // for each processor.
    let count = units * (threads + 2) + 2 + (media.isEmpty ? 0 : 2 * processors)
    add("media", media.byteCount)
    add("threads", count * Self.threadByteCount)
    add("code", Self.codeByteCount + media.decoders.count * Self.decoderCodeByteCount)
  }

  /// Adds what the record of a request's events takes, while it is made.
  mutating func addTimeline(events: Int) { add("timeline", events * Self.eventByteCount) }

  /// Bytes of an event with its name and what it waited for, once more while the record grows.
  private static let eventByteCount = 512
  /// Bytes of stack that a thread touches, and of what its allocator keeps for it.
  private static let threadByteCount = 256 << 10
  /// Bytes of the program and the language's libraries that a first request touches.
  private static let codeByteCount = 4 << 20
  /// Bytes of libraries that a first medium touches, for each library that decodes media.
  private static let decoderCodeByteCount = 8 << 20
}

/// What the media of a request take of memory.
struct MediaMemory: Hashable, Sendable {
  /// What decodes media.
  enum Decoder: Hashable, Sendable {
    /// Pictures.
    case pictures
    /// Clips and recordings.
    case tracks
  }

  /// Bytes that stay until the request is over, of all media.
  private(set) var keptByteCount = 0
  /// Bytes more while one is decoded, of the one that takes most.
  private(set) var decodingByteCount = 0
  /// What decodes them.
  private(set) var decoders: Set<Decoder> = []

  /// Whether there are none.
  var isEmpty: Bool { decoders.isEmpty }

  /// Adds a medium.
  mutating func add(_ medium: LoadedMedium) {
    keptByteCount += medium.keptByteCount
    decodingByteCount = max(decodingByteCount, medium.decodingByteCount)
    if case .image = medium.part { decoders.insert(.pictures) } else { decoders.insert(.tracks) }
  }

  /// All of it at once.
  var byteCount: Int { keptByteCount + decodingByteCount }
}
