import Glibc

/// What other processes take of this machine's processors.
enum OtherWork {
  /// Processor time of everything but this process since the machine began, in nanoseconds.
  ///
  /// 0 where the system does not say; it counts in steps of some milliseconds.
  static var nanoseconds: Int {
    guard let file = fopen("/proc/stat", "r") else { return 0 }
    defer { fclose(file) }
    var bytes = [CChar](repeating: 0, count: 512)
    guard fgets(&bytes, Int32(bytes.count), file) != nil else { return 0 }
    let line = String(
      decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)),
      as: UTF8.self
    )
    let counts = line.split(separator: " ").dropFirst().compactMap { Int($0) }
    guard counts.count >= 8 else { return 0 }
    // user, nice, system, idle, iowait, irq, softirq, stolen by the host of a virtual machine.
    let busy = counts[0] + counts[1] + counts[2] + counts[5] + counts[6] + counts[7]
    var own = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own)
    let step = 1_000_000_000 / max(sysconf(Int32(_SC_CLK_TCK)), 1)
    return busy * step - (own.tv_sec * 1_000_000_000 + own.tv_nsec)
  }
}

/// When rounds ended, and what other work had taken by then.
struct RoundMarks {
  private var times: [Int]
  private var others: [Int]

  /// Nanoseconds over which other work is looked at, so that the system's steps matter little.
  private static let window = 300_000_000
  /// Processors that other work may take without counting as a disturbance.
  private static let tolerated = 0.1

  /// Marks that begin now.
  init(time: Int, others: Int) { (times, self.others) = ([time], [others]) }

  /// Ends a round.
  mutating func append(time: Int, others: Int) {
    times.append(time)
    self.others.append(others)
  }

  /// Whether other work took a tenth of a processor or more in a round and around it.
  func isDisturbed(_ round: Int) -> Bool {
    var (first, last) = (round, round + 1)
    while times[last] - times[first] < Self.window, first > 0 || last < times.count - 1 {
      first = max(first - 1, 0)
      last = min(last + 1, times.count - 1)
    }
    // In less than a window the system's steps would count for more than they are.
    let time = max(times[last] - times[first], Self.window)
    return Double(others[last] - others[first]) > Self.tolerated * Double(time)
  }
}
