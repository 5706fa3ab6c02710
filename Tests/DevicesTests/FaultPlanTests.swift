import Foundation
import Graph
import TestSupport
import Testing

@testable import Devices

/// How faults are written, drawn and counted.
@Suite struct FaultPlanTests {
  @Test func everyFormIsRead() throws {
    let text =
      "neuralEngine:fail@launch=7,gpu:compile,neuralEngine:nan@chunk2.decode#3,gpu:emulated:gone,"
      + "neuralEngine:slow=2.5x@chunk1.*#2+,cpu:hang@embed,random,gpu:random@vision,seed=5,"
      + "rate=0.5,limit=0.25s"
    let plan = try FaultPlan(parsing: text)
    #expect(
      plan.faults.map(\.description) == [
        "neuralEngine:fail@launch=7", "gpu:compile", "neuralEngine:nan@chunk2.decode#3",
        "gpu:emulated:gone@launch=1", "neuralEngine:slow=2.5x@chunk1.*#2+", "cpu:hang@embed#1",
        "random", "gpu:random@vision#1+",
      ]
    )
    #expect(plan.seed == 5 && plan.rate == 0.5 && plan.limitNanoseconds == 250_000_000)
  }

  @Test(arguments: [
    "", "fail", "tpu:fail", "neuralEngine", "neuralEngine:", "neuralEngine:burn", "gpu:slow=x",
    "gpu:slow=0x", "gpu:slow=2", "gpu:fail@", "gpu:fail@launch=0", "gpu:fail@launch=x",
    "gpu:fail@#2", "gpu:fail@vision#0", "gpu:fail@vision#1#2", "gpu:compile@launch=2",
    "gpu:compile@vision#2", "gpu:random@launch=3", "seed=-1", "rate=2", "limit=5", "limit=0s",
    "gpu:fail,,gpu:nan", "speed=5",
  ])
  func whatIsNotOneIsSaid(_ text: String) {
    let error = #expect(throws: FaultPlanError.self) { try FaultPlan(parsing: text) }
    #expect(error?.description.hasPrefix("inject: ") == true)
    #expect(error?.description.contains("\n") == false)
  }

  @Test func whatIsDrawnDependsOnSeedUnitAndNumberAlone() throws {
    func drawn(_ text: String, _ unit: UnitID) throws -> [Int] {
      let plan = try FaultPlan(parsing: text)
      return (1...1000).filter {
        plan.fault(on: unit, launch: $0, of: "p", turn: 1) != nil
      }
    }
    let one = try drawn("random,seed=5,rate=0.1", .gpu)
    #expect((60...140).contains(one.count))
    #expect(try one == drawn("random,seed=5,rate=0.1", .gpu))
    #expect(try one != drawn("random,seed=6,rate=0.1", .gpu))
    #expect(try one != drawn("random,seed=5,rate=0.1", .neuralEngine))
    #expect(try drawn("random,rate=1", .cpu).isEmpty)
    #expect(try drawn("random,rate=0", .gpu).isEmpty)
    #expect(try drawn("gpu:fail@launch=3+", .gpu) == Array(3...1000))
  }

  /// A launch behind one that hangs is never run once it has been given up.
  @Test func aQueueGoesOnBehindWhatWasGivenUp() throws {
    let (stuck, free) = (UnitQueue(unit: .gpu), UnitQueue(unit: .cpu))
    let gate = DispatchSemaphore(value: 0)
    let ran = Protected<[String]>([])
    let hung = stuck.submit("hung", after: []) { gate.wait() }
    let behind = stuck.submit("behind", after: []) { ran.update { $0.append("behind") } }
    let next = free.submit("next", after: [hung]) { ran.update { $0.append("next") } }
    let limit = DeviceError.timedOut(unit: "gpu", program: "hung", milliseconds: 100)
    let lost = DeviceError.lost(unit: "gpu", program: "behind", reason: "")
    #expect(throws: limit) {
      try hung.wait(atMost: 100_000_000, tooLong: { limit }, inVain: { nil })
    }
    #expect(throws: lost) {
      try behind.wait(atMost: .max, tooLong: { limit }, inVain: { lost })
    }
    // The other unit's queue is free again, and what waited for the hung launch failed with it.
    #expect(throws: limit) { try next.wait() }
    try free.submit("after", after: []) { ran.update { $0.append("after") } }.wait()
    gate.signal()
    try stuck.submit("last", after: []) { ran.update { $0.append("last") } }.wait()
    #expect(ran.update { $0 } == ["after", "last"])
    #expect(throws: limit) { try hung.wait() }
  }
}
