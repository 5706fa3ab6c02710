import Foundation
import Testing

@testable import Devices

@Suite struct HostMachineTests {
  /// A `/sys` and `/proc` with two nodes of two processors.
  private func makeRoot() throws -> URL {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let files = [
      "proc/cpuinfo": "processor : 0\nmodel name : Test CPU\n",
      "proc/meminfo": "MemTotal:       2048 kB\n",
      "sys/devices/system/cpu/online": "0-3\n",
      "sys/devices/system/node/online": "0-1\n",
      "sys/devices/system/node/node0/cpulist": "0,2\n",
      "sys/devices/system/node/node1/cpulist": "1,3\n",
    ]
    for (name, text) in files {
      let url = root.appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(),
        withIntermediateDirectories: true
      )
      try Data(text.utf8).write(to: url)
    }
    return root
  }

  @Test func readsNodesAndFillsOneBeforeTheNext() throws {
    let root = try makeRoot()
    defer { try? FileManager.default.removeItem(at: root) }
    let machine = HostMachine(root: root.path)
    #expect(machine.processor == "Test CPU")
    #expect(machine.processors == 4)
    #expect(machine.memoryByteCount == 2 << 20)
    #expect(machine.nodes.map(\.processors) == [[0, 2], [1, 3]])
    #expect(machine.processors(forThreads: 3) == [0, 2, 1])
    #expect(machine.processors(forThreads: 6) == [0, 2, 1, 3, 0, 2])
  }

  @Test func aMachineThatTellsNothingHasOneNode() {
    let machine = HostMachine(root: "/nonexistent")
    #expect(machine.processors == 1)
    #expect(machine.nodes.count == 1)
    #expect(machine.processors(forThreads: 2).isEmpty)
  }

  @Test func anArenaLargerThanTheMachineIsAnError() throws {
    let arena = Arena()
    _ = try arena.atLeast(1 << 20)
    let machine = HostMachine.current().memoryByteCount
    #expect(throws: DeviceError.outOfMemory(unit: "host", byteCount: machine + 1)) {
      _ = try arena.atLeast(machine + 1)
    }
    _ = try arena.atLeast(1 << 21)
  }
}
