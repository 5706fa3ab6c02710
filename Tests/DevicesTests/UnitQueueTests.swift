import Foundation
import Graph
import Testing

@testable import Devices

/// One launch at a time, in the order of launching as far as nothing has to be waited for.
@Suite struct UnitQueueTests {
  @Test func whatWaitsForAnotherUnitKeepsNothingBack() throws {
    let queue = UnitQueue(unit: .cpu)
    let other = Moment()
    let late = queue.submit("late", after: [other]) {}
    let first = queue.submit("first", after: []) {}
    let second = queue.submit("second", after: [first]) {}
    let end = try second.wait()
    other.reach(.success(end))
    let last = try late.wait()
    #expect(try first.wait().endNanoseconds <= end.startNanoseconds)
    #expect(end.endNanoseconds <= last.startNanoseconds)
  }

  @Test func whatWaitsForAFailureFailsWithIt() {
    let queue = UnitQueue(unit: .cpu)
    let other = Moment()
    let behind = queue.submit("behind", after: [other]) {}
    let error = DeviceError.lost(unit: "gpu", program: "p", reason: "gone")
    other.giveUp(error)
    #expect(throws: error) { try behind.wait() }
  }

  @Test func aFreeQueueLetsTheWaitingThreadWork() throws {
    let queue = UnitQueue(unit: .cpu)
    var behind: Moment?
    let event = try #require(
      queue.perform("here") {
        // One at a time: what is launched meanwhile waits, and nobody else may work here.
        behind = queue.submit("behind", after: []) {}
        #expect(queue.perform("second") {} == nil)
      }
    )
    let later = try #require(try behind?.wait())
    #expect(event.program == "here" && event.endNanoseconds <= later.startNanoseconds)
    // The queue's own thread may not have left the last launch yet.
    while queue.perform("again", {}) == nil {}
    let error = DeviceError.lost(unit: "cpu", program: "p", reason: "gone")
    #expect(throws: error) { _ = try queue.perform("fails") { throw error } }
    #expect(queue.perform("free again") {} != nil)
  }

  @Test func momentsThatComeWhileALaunchIsHandedOverAreNotMissed() throws {
    let (left, right) = (UnitQueue(unit: .cpu), UnitQueue(unit: .gpu))
    var last: [Moment] = []
    for index in 0..<4000 {
      last = [(index % 2 == 0 ? left : right).submit("\(index)", after: last) {}]
      if index % 3 == 0 { try last.first?.wait() }
    }
    try last.first?.wait()
  }
}
