import Foundation

/// The machine this process runs on, as far as placing threads and memory needs it.
public struct HostMachine: Hashable, Sendable {
  /// One NUMA node.
  public struct Node: Hashable, Sendable {
    /// The system's number of it.
    public let index: Int
    /// Processors that belong to it.
    public let processors: [Int]
  }

  /// The processor's model name.
  public let processor: String
  /// Processors that are online.
  public let processors: Int
  /// Bytes of main memory.
  public let memoryByteCount: Int
  /// NUMA nodes, at least one.
  public let nodes: [Node]

  /// Reads the machine's description below a root, which tests may replace.
  ///
  /// - Parameter root: what stands before `/sys` and `/proc`; empty for the real ones.
  public init(root: String) {
    let info = Self.text(root + "/proc/cpuinfo")
    processor = Self.field("model name", in: info) ?? "unknown processor"
    let online = Self.list(Self.text(root + "/sys/devices/system/cpu/online"))
    processors = max(online.count, 1)
    let memory = Self.field("MemTotal", in: Self.text(root + "/proc/meminfo"))
    memoryByteCount = (Int(memory?.prefix { $0.isNumber } ?? "0") ?? 0) << 10
    let folder = root + "/sys/devices/system/node"
    let found = Self.list(Self.text(folder + "/online")).map { index in
      Node(index: index, processors: Self.list(Self.text("\(folder)/node\(index)/cpulist")))
    }
    let usable = found.filter { !$0.processors.isEmpty }
    nodes = usable.isEmpty ? [Node(index: 0, processors: online)] : usable
  }

  /// This machine.
  public static func current() -> HostMachine { HostMachine(root: "") }

  /// Processors for `count` threads: one node filled before the next.
  public func processors(forThreads count: Int) -> [Int] {
    let all = nodes.flatMap(\.processors)
    return all.isEmpty ? [] : (0..<count).map { all[$0 % all.count] }
  }

  /// The most bytes of this process that were in memory at once, mapped files included.
  public static var peakResidentByteCount: Int {
    let peak = field("VmHWM", in: text("/proc/self/status"))
    return (Int(peak?.prefix { $0.isNumber } ?? "0") ?? 0) << 10
  }

  /// Bytes of this process that are in memory now, mapped files included.
  public static var residentByteCount: Int {
    let now = field("VmRSS", in: text("/proc/self/status"))
    return (Int(now?.prefix { $0.isNumber } ?? "0") ?? 0) << 10
  }

  private static func text(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }

  private static func field(_ name: String, in text: String) -> String? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return nil
  }

  /// Numbers written as `0-3,8`.
  static func list(_ text: String) -> [Int] {
    text.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ",").flatMap {
      part -> [Int] in
      let ends = part.split(separator: "-").compactMap { Int($0) }
      guard let first = ends.first, let last = ends.last, first <= last, last < 1 << 16 else {
        return []
      }
      return Array(first...last)
    }
  }
}
