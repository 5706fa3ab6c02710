import Devices
import Foundation
import Graph

/// Compiled programs by part and unit, for many placements of one model over the same units.
///
/// A program depends on its own part's unit and on nothing else of a placement, unless that names
/// operations: then nothing is shared.
final class SharedPrograms: @unchecked Sendable {
  typealias Entry = (program: Program, fallbacks: [Fallback])

  private struct Place: Hashable {
    let key: ProgramStore.Key
    let unit: UnitID
  }

  private let lock = NSLock()
  private var entries: [Place: Entry] = [:]

  /// How many there are.
  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return entries.count
  }

  subscript(
    key: ProgramStore.Key,
    placement: Placement,
    avoided: Set<UnitID>
  ) -> Entry? {
    get {
      guard let place = place(key, placement, avoided) else { return nil }
      lock.lock()
      defer { lock.unlock() }
      return entries[place]
    }
    set {
      guard let place = place(key, placement, avoided) else { return }
      lock.lock()
      entries[place] = newValue
      lock.unlock()
    }
  }

  private func place(
    _ key: ProgramStore.Key,
    _ placement: Placement,
    _ avoided: Set<UnitID>
  ) -> Place? {
    guard avoided.isEmpty, !placement.rules.contains(where: \.isGlob) else { return nil }
    return Place(key: key, unit: placement.unit(of: key.part))
  }
}
